"""The JSON of the page's API, as structs. `web.openapi` describes it by them.

Tests: base, doctor, map, report, session, waiting and why in tests/unit/web/test_openapi.py; history and plans in
tests/unit/web/test_plan_answers.py; queues in tests/unit/web/test_queues.py; search in tests/unit/web/test_search.py;
decisions and what_if in tests/unit/web/test_what_if.py; frames in tests/unit/web/test_map_streams.py.
"""
