"""The kube-scheduler side: verbs, gangs, domains, plans, reservations, eviction.

Tests: configuration, metrics and tls in test_server.py; wire in test_verbs.py; service in
tests/e2e/test_standbys.py.
"""
