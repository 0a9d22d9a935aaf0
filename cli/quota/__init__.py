"""`reprieve quota`.

Tests: asking, command and render in test_quota.py.
"""
