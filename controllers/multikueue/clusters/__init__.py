"""Connections to worker clusters: what is seen there, whether it is up to date, and the way to write there.

`clusters.py` has the face: `Clusters`, and a `Connection` for each MultiKueueCluster. Both live in a term.

Tests: objects in test_stores.py; activity in test_checks.py; tls in test_client.py; connecting, connection,
hooks, known, probe, statuses and tasks in test_clusters.py.
"""
