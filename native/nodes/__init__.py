"""The kernels of the node engine: packing and victim search.

Tests: _bounds in tests/property/test_bounds.py; _floors in tests/property/test_floors.py; _changes, _domain,
_examining, _improving, _needs, _packing, _placing and _victims in tests/property/test_twin.py; problem in
test_search.py.
"""
