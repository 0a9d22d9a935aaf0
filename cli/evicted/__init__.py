"""`reprieve who-evicted`.

Tests: command and render in test_who_evicted.py.
"""
