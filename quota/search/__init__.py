"""From a snapshot and a Workload to flavors and victims, with the reasons as data.

Tests: asks and assignment in test_flavors.py; candidates in test_explain.py.
"""
