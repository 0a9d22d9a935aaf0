"""A view of the page each: its addresses, and what `answers` is asked for them.

Tests: doctor and report in tests/unit/web/test_account.py; events, session, waiting and why in
tests/unit/web/test_application.py; history and plans in tests/unit/web/test_plan_answers.py; map in
tests/unit/web/test_map.py; queues in tests/unit/web/test_queues.py; search in tests/unit/web/test_search.py; what_if in
tests/unit/web/test_what_if.py.
"""
