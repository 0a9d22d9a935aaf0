"""What the cluster shows of a gang and its plan: from the mirror to observations."""
