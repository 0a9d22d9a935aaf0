"""Preemptions that are under way, and the stored plans behind them.

Tests: lives, plan_look, resuming and stored_plans in test_plans.py; resumption in test_quota_pauses.py.
"""
