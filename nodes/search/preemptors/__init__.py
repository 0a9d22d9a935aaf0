"""Preemptors: the group or pod that needs room, its members, and pods that are only supposed.

Tests: before in tests/property/test_state_before.py; demand in tests/property/test_slots.py; mismatch in
tests/unit/nodes/search/test_priorities.py; more_rows in tests/property/test_supposed.py; preemptor in
tests/unit/nodes/search/test_decision.py; trying in tests/unit/controllers/gangs/test_native_gangs.py.
"""
