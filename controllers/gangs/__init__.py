"""Gang preemption on nodes (KEP-5710): gangs, plans, reservations, evictions.

Tests: accounted in tests/unit/controllers/account/test_account.py; configuration in
tests/unit/cli/common/test_configuration.py; controller, known and leading in test_terms.py;
filter_answers and plan_answers in test_answering.py;
following, gangs and timekeeping in test_planner.py; metrics in
tests/unit/controllers/gangs/evicting/test_evictor.py; performing and plan_acts in test_carrying_out.py;
recording in test_observing.py.
"""
