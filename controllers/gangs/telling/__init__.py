"""What people read: events, conditions and the status of PodGroups.

Tests: telling in test_group_status.py.
"""
