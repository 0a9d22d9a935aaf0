"""`reprieve page`.

Tests: command and reading in test_page.py.
"""
