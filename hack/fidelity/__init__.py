"""Compares our filters with kube-scheduler's own ones on random clusters: `make fidelity`."""
