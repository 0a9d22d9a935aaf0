"""What kube-scheduler says of pods, what it offers, and how it is set up.

Tests: rejections in test_messages.py.
"""
