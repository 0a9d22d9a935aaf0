"""The lives of Workloads and of plans as pure functions.

Tests: admitting, around, draft, preempting, retries and saying in test_life.py; plan_life in
tests/property/test_quota_plan_lives.py; proposal_life in tests/property/test_proposal_lives.py.
"""
