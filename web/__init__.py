"""The page: what `answers` says, for a browser. It is read-only. It decides nothing and words nothing.

Whoever looks has their own rights: the API server is asked as they (docs/page.md).

Tests: about, answering, errors, lists, metrics, questions, route, routes, service, shared, statics, streams, turns
and versions in test_application.py; frames in test_map_streams.py; posting in test_what_if.py.
"""
