"""What acts in a term: it gathers what is seen, asks `life/` what follows, and carries it out.

Tests: tests/unit/controllers/multikueue, and tests/multicluster for all that needs clusters.
"""
