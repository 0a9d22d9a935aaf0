"""`reprieve report`.

Tests: command and render in test_report.py.
"""
