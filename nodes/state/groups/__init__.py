"""The tables of groups and disruption budgets, and which group a pod belongs to by its owners."""
