"""`reprieve serve`.

Tests: command in test_serve.py.
"""
