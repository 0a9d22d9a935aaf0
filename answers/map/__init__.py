"""The map of nodes: who holds their room, and to whom it is promised. One reader's map has nothing of the others'.

Tests: blocks, panel, rooms and whole in tests/unit/answers/test_map.py.
"""
