"""`reprieve clusters`.

Tests: command and render in test_clusters.py.
"""
