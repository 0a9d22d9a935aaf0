"""Builds the parts of a term, each from what every process knows and from parts that are there already.

Tests: evicting in tests/unit/controllers/gangs/test_resuming.py; planning in
tests/unit/controllers/gangs/test_planner.py; telling in tests/unit/controllers/gangs/telling/test_group_status.py;
undoing in tests/unit/controllers/gangs/undoing/test_undoing.py;
waking in tests/unit/controllers/gangs/waking/test_waker.py.
"""
