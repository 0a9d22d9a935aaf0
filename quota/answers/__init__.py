"""Explanations for people: how quota is used, who waits and why, and who could lose it. Nothing here decides.

Tests: accounts, overview and reclaims in tests/property/test_quota_accounts.py; decision_words, gated, places,
status_waits and words in test_waits.py; told in tests/property/test_withholding.py; fates in
tests/unit/cli/diff/test_diff.py; trial in tests/unit/cli/whatif/test_what_if.py.
"""
