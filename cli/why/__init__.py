"""`reprieve why`.

Tests: command and render in test_why_pod.py.
"""
