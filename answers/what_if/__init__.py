"""What would happen if objects were submitted.

Tests: pod_groups in test_claims.py; admission and granted in tests/conformance/test_answers.py; answer, step, trying,
units and workloads in tests/unit/cli/whatif/test_what_if.py.
"""
