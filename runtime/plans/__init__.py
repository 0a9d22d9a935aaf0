"""Stored plans: how they are written, and how long they stay.

Tests: plan_objects and whole_plans in tests/unit/controllers/gangs/mirror/test_withheld_names.py; plan_retention
and plan_writer in tests/unit/controllers/gangs/writing/test_housekeeping.py.
"""
