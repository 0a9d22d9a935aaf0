"""The one way to write: plans, conditions and events, in turn for each object.

Tests: writes in test_plan_store.py.
"""
