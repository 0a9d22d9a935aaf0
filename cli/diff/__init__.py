"""`reprieve diff`.

Tests: command and render in test_diff.py.
"""
