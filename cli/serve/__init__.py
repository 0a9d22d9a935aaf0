"""`reprieve serve`.

Tests: command in test_serve.py; election in test_leaving.py; page in tests/e2e/test_page.py.
"""
