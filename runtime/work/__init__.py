"""Queues, workers and small jobs that controllers share."""
