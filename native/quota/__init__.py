"""The kernels of the quota engine.

Tests: _classical, _fair, _holders, _search and _wish in tests/property/test_quota_twin.py; _quota in
test_ledger.py; _tree and quotas in tests/property/test_quota_tree.py.
"""
