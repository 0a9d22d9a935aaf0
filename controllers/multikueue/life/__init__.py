"""The life of a dispatched Workload, as pure functions: from what is seen in all clusters to what follows.

Tests: tests/unit/controllers/multikueue, and the state machine in tests/property/test_dispatched_lives.py.
"""
