"""The status, metrics and finalizers of queues.

Tests: desired and queue_metrics in test_queue_statuses.py; finalizers in tests/e2e/test_queues.py.
"""
