"""The life of a dispatched Workload, as pure functions: from what is seen in all clusters to what follows.

Tests: decision in test_life.py, tests/property/test_dispatched_lives.py.
"""
