"""Explanations for people: why a pod, group or Job waits, and what would happen. Nothing here decides.

Tests: asking in tests/property/test_promises_in_dumps.py; group_counts and members in
tests/property/test_waiting.py; picture in tests/property/test_node_pictures.py; plan_words,
pod_answers and pod_waits in test_group_waits.py; waiting in tests/property/test_fates.py; with_groups in
tests/unit/answers/reading/test_node_objects.py.
"""
