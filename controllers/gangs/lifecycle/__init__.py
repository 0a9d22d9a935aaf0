"""The life of a gang as pure functions: observations in, the next life and its effects out.

Tests: confirming, effects, endings, noting, observations, plan_seen and settings in test_reducer_plans.py; gathering in
test_reducer.py; judging in test_vain.py; limiting in tests/unit/controllers/gangs/evicting/test_limits.py; limits in
tests/property/test_eviction_limits.py; life and steps in tests/property/test_lives.py;
observed in tests/property/test_observed_lives.py; pausing in
tests/unit/controllers/gangs/evicting/test_pauses.py; stored_plan in test_cycles.py.
"""
