"""The plain twin of `native.nodes`."""
