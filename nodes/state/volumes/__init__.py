"""The table of claims and volumes, and what they mean for the pods that use them.

Tests: attach_limits, claimants, found, volume_facts and volumes in tests/property/test_claims.py.
"""
