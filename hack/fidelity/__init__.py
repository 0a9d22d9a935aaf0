"""Compares our filters with kube-scheduler's own ones, and budgets with their controller: `make fidelity`."""
