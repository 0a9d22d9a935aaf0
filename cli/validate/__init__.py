"""`reprieve validate`.

Tests: command, objects and verdicts in test_validate.py.
"""
