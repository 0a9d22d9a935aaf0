"""Who waits, and how waiting pods come back to the scheduler.

Tests: parked in tests/unit/controllers/gangs/mirror/test_waiting.py; waiters and waking in test_waker.py.
"""
