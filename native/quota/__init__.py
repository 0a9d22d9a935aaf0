"""The kernels of the quota engine."""
