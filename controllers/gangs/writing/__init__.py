"""The one way to write: plans, conditions and events, in turn for each object.

Tests: pod_writer in test_writer.py; writes in test_plan_store.py.
"""
