"""The status, metrics and finalizers of queues."""
