"""`reprieve plan`.

Tests: command and offline in test_plan.py.
"""
