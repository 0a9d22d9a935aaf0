"""The map of nodes: who holds room, and which plans promise it. A map has only what its reader may list.

Tests: blocks, panel, rooms and whole in tests/unit/answers/test_map.py; change_columns, changing, choices,
frame and holding in tests/unit/answers/test_map_frames.py.
"""
