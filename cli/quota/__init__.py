"""`reprieve quota`.

Tests: command, plain and render in test_quota.py.
"""
