"""What the engine knows of a cluster: tables of columns, changed event by event, and their snapshots.

Tests: copying, nodes and pod_view in test_tables.py; domains and potential in tests/property/test_slots.py;
repelling in tests/property/test_looks.py; snapshot in tests/unit/nodes/search/test_excluded.py.
"""
