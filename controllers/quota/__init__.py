"""The quota controller: Workloads get quota, wait for it, are evicted and come back.

KEP-1337, KEP-8522, KEP-8303 and KEP-3258.

Tests: configuration in tests/unit/cli/common/test_configuration.py; controller and leading in
tests/e2e/test_quota_plans.py.
"""
