"""The kinds of objects that make pods: one description each, for live decisions and for answers about manifests.

`tests/conformance/test_kinds.py` compares the table with the cases of the kinds.

Tests: alone, batch, kind, ray, services and training in tests/unit/nodes/groups/test_made_pods.py and
tests/unit/nodes/groups/test_owner_objects.py.
"""
