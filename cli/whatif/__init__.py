"""`reprieve what-if`.

Tests: command and render in test_what_if.py.
"""
