"""`reprieve pause` and `reprieve resume`: they write and remove the annotations of a pause on a Namespace.

Tests: command and render in test_pausing.py.
"""
