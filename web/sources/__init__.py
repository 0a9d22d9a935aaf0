"""Where the page's answers come from: files that stand still, or a cluster that is followed.

Tests: accounts, asked, examined, lease, plans, pods and source in test_live.py.
"""
