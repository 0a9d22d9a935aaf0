"""Queues, workers and small jobs that controllers share.

Tests: pod_gates in tests/unit/cli/leaving/test_ungate.py; search_thread in
tests/unit/controllers/gangs/test_planner.py.
"""
