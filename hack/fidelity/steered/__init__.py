"""Compares whom kube-scheduler evicts for gangs of its own kind with our plans for them: `make fidelity-steer`."""
