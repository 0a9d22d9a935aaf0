"""`reprieve why`.

Tests: answers and command in test_queues.py; objects and render in test_doc.py.
"""
