"""Connections to worker clusters: what is seen there, whether it is up to date, and the way to write there.

`clusters.py` has the face: `Clusters`, and a `Connection` for each MultiKueueCluster. Both live in a term.
"""
