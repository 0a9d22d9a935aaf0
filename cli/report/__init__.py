"""`reprieve report`.

Tests: command, price and render in test_report.py.
"""
