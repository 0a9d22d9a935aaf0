"""Gang preemption on nodes (KEP-5710): gangs, plans, reservations, evictions.

Tests: configuration in tests/unit/cli/common/test_configuration.py; controller, known, leading and resuming in
test_terms.py; gangs and timekeeping in test_planner.py; metrics in
tests/unit/controllers/gangs/evicting/test_evictor.py; performing in test_carrying_out.py.
"""
