"""`reprieve page`.

Tests: command, opening, reading and running in test_page.py.
"""
