"""Whether reprieve works in a cluster, and what helps if it does not.

Tests: findings, kinds and seen in test_page.py; gangs, installation, native and schedulers in test_checks.py.
"""
