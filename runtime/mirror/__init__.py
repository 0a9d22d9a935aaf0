"""Views of one cluster, and the stores behind them.

Tests: objects, resources, versions and view in test_views.py; readiness in
tests/unit/controllers/quota/test_observing.py; watched_admission in
tests/unit/controllers/gangs/evicting/test_rehearsals.py; watched_quota and watched_tables in test_watched.py.
"""
