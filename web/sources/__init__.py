"""Where the page's answers come from: files that stand still, or a cluster that is followed.

Tests: files in tests/unit/web/sources/test_files.py; asked, lease, live, plans, pods and source in
tests/unit/web/sources/test_live.py.
"""
