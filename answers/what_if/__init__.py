"""What would happen if objects were submitted.

Tests: answer, step, trying, units and workloads in tests/unit/cli/whatif/test_what_if.py.
"""
