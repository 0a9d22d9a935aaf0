"""A view of the page each: its addresses, and what `answers` is asked for them.

Tests: events, session, waiting and why in tests/unit/web/test_application.py; map in tests/unit/web/test_map.py; queues
in tests/unit/web/test_queues.py; what_if in tests/unit/web/test_what_if.py.
"""
