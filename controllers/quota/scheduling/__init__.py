"""The loop of cycles, and what it asks of the nodes plane.

Tests: consequences, cycles and scheduling in tests/e2e/test_quota_preemption.py.
"""
