"""The filter and preempt verbs for kube-scheduler: what they answer, their listener, and calls of other replicas.

Tests: configuration, metrics and tls in test_server.py; wire in test_verbs.py; service in
tests/e2e/test_standbys.py.
"""
