"""PodGroups in queues.

Tests: controller, leading, mirrors and writer in tests/e2e/test_queued_groups.py; workload in test_life.py.
"""
