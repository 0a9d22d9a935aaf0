"""Which gang is planned next, and with what in mind.

Tests: arrivals, lessons and sparing in tests/unit/controllers/gangs/lifecycle/test_vain.py; candidates and turns in
test_waiting_gangs.py; limiter in tests/unit/controllers/gangs/evicting/test_limits.py; looking_afar in
test_planning_queue.py; lone_preemptors in test_singles.py; observed_pods in
tests/unit/controllers/gangs/test_canary.py; outcomes in
tests/unit/controllers/gangs/test_carrying_out.py; pieces_facts, pieces_inquiry and reading in
test_partial_gangs.py; resumption in
tests/unit/controllers/gangs/evicting/test_pauses.py; state_before in tests/unit/controllers/gangs/test_observing.py;
stopped_gangs in tests/e2e/test_stopped_jobs.py.
"""
