"""Where the page's answers come from: files that stand still, or a cluster that is followed.

Tests: accounts, asked, examined, lease, pods and source in test_live.py.
"""
