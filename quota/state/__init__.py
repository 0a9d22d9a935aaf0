"""What the quota engine knows of a cluster, and its snapshots.

Tests: holdings, ranks and snapshot in tests/property/test_quota_state.py; queue_settings in test_activity.py;
surroundings in tests/unit/quota/search/test_adjusted.py.
"""
