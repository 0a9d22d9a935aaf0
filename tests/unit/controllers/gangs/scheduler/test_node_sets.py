"""Sets of nodes and candidates as bits."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from controllers.gangs.scheduler.node_sets import Numbering

NODES = [f"n{number}" for number in range(40)]
NAMES = st.lists(st.sampled_from(NODES), max_size=40)
CANDIDATES = st.dictionaries(st.sampled_from(NODES), st.lists(st.sampled_from("abc"), max_size=2), max_size=9)


@given(st.lists(NAMES, max_size=5))
def test_a_set_of_nodes_has_what_was_put_in(lists: list[list[str]]) -> None:
    numbering = Numbering(0.0)
    made = [(names, numbering.nodes(names)) for names in lists]
    for names, bits in made:
        assert [node for node in NODES if numbering.has_node(bits, node)] == [
            node for node in NODES if node in names
        ]


@given(st.lists(CANDIDATES, max_size=5))
def test_a_set_of_candidates_has_what_was_put_in(lists: list[dict[str, list[str]]]) -> None:
    numbering = Numbering(0.0)
    made = [(candidates, numbering.candidates(candidates)) for candidates in lists]
    for candidates, bits in made:
        for node in NODES:
            expected = [frozenset(candidates[node])] if node in candidates else []
            assert numbering.victims(bits, node) == expected


def test_a_node_that_was_never_named_is_in_no_set() -> None:
    numbering = Numbering(0.0)
    assert not numbering.has_node(numbering.nodes(["n1"]), "n2")
    assert not numbering.has_node(numbering.nodes([]), "n1")
