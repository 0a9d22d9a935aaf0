"""Jobs of `batch/v1` in queues.

Tests: controller and leading in tests/e2e/test_queued_jobs.py; mirrors in test_evicted_on_nodes.py; starting in
tests/property/test_job_lives.py.
"""
