"""`reprieve ungate`, `unprotect` and `release`: what a cluster needs that reprieve leaves.

Tests: running and webhooks in test_commands.py; clusters and sweeps in test_release.py.
"""
