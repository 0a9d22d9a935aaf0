"""`reprieve serve`.

Tests: command in test_serve.py; process in tests/e2e/test_standbys.py.
"""
