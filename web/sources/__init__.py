"""Where the page's answers come from: files that stand still, or a mirror that follows a cluster.

Tests: source in tests/unit/web/test_hub.py.
"""
