"""The order of the units by numbers is the order by their keys."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.search.units import _order
from tests.kit.examples import examples

NUMBERS = st.sampled_from((-(2**40), -3, 0, 1, 2, 500, 2**31, 2**45, 2**61))


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.booleans(), NUMBERS, NUMBERS), max_size=12))
def test_the_first_key_goes_before_all_others(rows: list[tuple[int, bool, int, int]]) -> None:
    columns = [np.array([row[k] for row in rows]) for k in range(4)]
    place = np.arange(len(rows))
    found = _order([*columns, place]).tolist()
    assert found == sorted(range(len(rows)), key=lambda i: (*rows[i], i))
