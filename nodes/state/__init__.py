"""What the engine knows of a cluster: tables of columns, changed event by event, and their snapshots.

Tests: copying, nodes and pod_view in test_tables.py; domains and potential in tests/property/test_slots.py;
hidden_units in tests/unit/controllers/gangs/promised/test_spared.py; kept in tests/property/test_state_before.py;
repelling in tests/property/test_looks.py; snapshot in tests/unit/nodes/search/test_excluded.py.
"""
