"""`reprieve queue`.

Tests: command, objects, plain and render in test_queue.py.
"""
