"""The tables of groups and disruption budgets, and which group a pod belongs to by its owners.

Tests: allowances in tests/unit/answers/reading/test_budgets.py; budgets in tests/property/test_budgets.py;
group_columns and groups in tests/unit/nodes/state/test_tables.py.
"""
