"""The kept order of names is the order of names."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.state.columns.name_order import NameOrder
from tests.kit.examples import examples

NAMES = st.text("ab-", min_size=1, max_size=3)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 30), NAMES, st.booleans()), max_size=6), max_size=12))
def test_ranks_follow_the_names(rounds: list[list[tuple[int, str, bool]]]) -> None:
    namespaces, names = ["x"] * 31, [f"{i:03}" for i in range(31)]
    order = NameOrder(namespaces, names)
    for row in range(31):
        order.change(row)
    for changes in rounds:
        for row, name, lives in changes:
            namespaces[row], names[row] = ("y" if lives else "", f"{name}{row}" if lives else "")
            order.change(row)
        ranks = order.ranks()
        alive = [row for row in range(31) if names[row]]
        assert sorted(alive, key=lambda row: (namespaces[row], names[row])) == sorted(
            alive, key=lambda row: int(ranks[row])
        )
