"""The base of every controller: terms, views of the cluster, queues, feature gates, the process.

Tests: metrics in tests/unit/runtime/terms/test_election.py.
"""
