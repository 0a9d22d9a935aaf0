"""Checks stored objects again with the rules of admission.

Tests: metrics in test_recheck.py.
"""
