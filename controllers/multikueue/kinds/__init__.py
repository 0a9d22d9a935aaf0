"""The kinds of objects that a manager sends to worker clusters, each one a module behind one protocol (`kind.py`), and
the copies of their Workloads. Pure functions over JSON: a copy keeps fields that nobody here reads.

Tests: kind and registry in test_batch_job.py.
"""
