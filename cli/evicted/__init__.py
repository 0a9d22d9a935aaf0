"""`reprieve who-evicted`.

Tests: command, plans and render in test_who_evicted.py.
"""
