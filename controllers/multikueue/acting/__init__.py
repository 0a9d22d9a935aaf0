"""What acts in a term: it gathers what is seen, asks `life/` what follows, and carries it out.

Tests: garbage and mirrors in tests/unit/controllers/multikueue/test_leading.py; patience and refusing in
test_refusing_clusters.py.
"""
