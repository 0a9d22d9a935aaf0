"""Which gang is planned next, and with what in mind.

Tests: arrivals and sparing in tests/unit/controllers/gangs/lifecycle/test_vain.py; candidates in
test_waiting_gangs.py; decide in tests/unit/controllers/gangs/test_planner.py; reading in test_partial_gangs.py;
stopped_gangs in tests/e2e/test_stopped_jobs.py.
"""
