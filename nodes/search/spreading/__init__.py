"""Members that look at pods on other nodes: placements and orders in which every filter takes every member.

The search of the kernel sees members only where they are on one node. Here a plan of it is checked, and if a filter
refuses it, members are dealt to cells. A cell is the nodes that no filter of this kind can tell apart.

Tests: alone, bounds, cells, obeying, refusals, seeking, sequences and victims in test_spreading.py; waves in
tests/unit/nodes/search/test_any_order.py.
"""
