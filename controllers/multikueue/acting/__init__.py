"""What acts in a term: it gathers what is seen, asks `life/` what follows, and carries it out.

Tests: garbage, mirrors and telling in tests/unit/controllers/multikueue/test_leading.py; patience in
test_refusing_clusters.py.
"""
