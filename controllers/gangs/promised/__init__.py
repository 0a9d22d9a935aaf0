"""The one account of promised room: claims, victims, grants, and what is left.

Tests: claim_index in test_claims.py; promises and promising in tests/unit/controllers/gangs/test_planner.py;
free_room and on_the_way in tests/property/test_free_room.py.
"""
