"""`reprieve queue`.

Tests: command and render in test_queue.py.
"""
