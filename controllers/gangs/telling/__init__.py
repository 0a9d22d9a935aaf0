"""What people read: events, conditions and the status of PodGroups.

Tests: causes in test_events.py; telling in test_group_status.py.
"""
