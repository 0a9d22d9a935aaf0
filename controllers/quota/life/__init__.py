"""The lives of Workloads and of plans as pure functions."""
