"""`reprieve plan`.

Tests: asking in test_stream.py; command in test_plan.py.
"""
