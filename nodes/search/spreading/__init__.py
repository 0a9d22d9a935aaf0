"""Members that look at pods on other nodes: placements and orders in which every filter takes every member.

The search of the kernel sees members only where they are on one node. Here a plan of it is checked, and if a filter
refuses it, members are dealt to cells. A cell is the nodes that no filter of this kind can tell apart.

Tests: all modules in test_spreading.py and tests/property/test_spreading.py; waves also in test_any_order.py.
"""
