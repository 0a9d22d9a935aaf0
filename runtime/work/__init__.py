"""Queues, workers and small jobs that controllers share.

Tests: pod_gates in tests/unit/cli/leaving/test_ungate.py; workers in
tests/unit/controllers/checks/test_controller.py.
"""
