"""Jobs of `batch/v1` in queues."""
