"""Groups of pods that other programs make: which one a pod belongs to, and how it stands in the tables.

Tests: keys, native, ours, registry, scheduler_plugins and volcano in test_groups_of_pods.py; owners in
test_owner_objects.py.
"""
