"""What the planes ask and tell each other.

Tests: placements in tests/unit/controllers/quota/scheduling/test_agreement.py.
"""
