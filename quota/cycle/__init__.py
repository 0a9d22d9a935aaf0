"""Queues of Workloads, and one cycle of the scheduler over their heads.

Tests: admissible and entries in test_cycle.py; lazy_heap and lines in tests/property/test_pending_queues.py;
tournament in tests/property/test_quota_cycle.py; unsupported in tests/unit/controllers/quota/life/test_life.py.
"""
