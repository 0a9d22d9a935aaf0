"""Carrying out the evictions of a plan, in one order, by one actor.

Tests: job_stops, refused_evictions and runs in test_evictor.py; marking in test_evictions.py; rehearsing in
test_rehearsals.py; strays in
tests/unit/controllers/gangs/test_terms.py.
"""
