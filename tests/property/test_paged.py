"""A list in pages changes like a list, and what was shared of it stays as it was."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.state.columns.paged import SIZE, PagedList
from tests.kit.examples import examples

ACTIONS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, SIZE + 3)),
    st.tuples(st.just("set"), st.integers(0, 3 * SIZE)),
    st.tuples(st.just("share"), st.just(0)),
)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(ACTIONS, max_size=15))
def test_it_is_a_list_and_what_was_shared_stays(actions: list[tuple[str, int]]) -> None:
    paged, plain, shared = PagedList[int](), list[int](), []
    for number, (action, argument) in enumerate(actions):
        if action == "append":
            for _ in range(argument):
                paged.append(number)
                plain.append(number)
        elif action == "set" and plain:
            paged[argument % len(plain)] = plain[argument % len(plain)] = -number
        elif action == "share":
            shared.append((paged.share(), plain.copy()))
    for found, expected in [*shared, (paged, plain)]:
        rows = range(len(expected))
        assert [*found] == found[:] == [found[row] for row in rows] == found.at(rows) == expected
        assert len(found) == len(expected)
        assert [*found.extended(range(SIZE))] == [*expected, *range(SIZE)]
        assert [*found] == expected
