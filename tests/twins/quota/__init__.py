"""The plain twin of `native.quota`."""
