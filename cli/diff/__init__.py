"""`reprieve diff`.

Tests: answer, command, objects and render in test_diff.py.
"""
