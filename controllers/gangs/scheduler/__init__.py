"""What kube-scheduler says of pods, what it offers, and how it is set up.

Tests: callers in tests/unit/controllers/gangs/test_groups_of_others.py; file in test_configuration.py; rejections in
test_messages.py.
"""
