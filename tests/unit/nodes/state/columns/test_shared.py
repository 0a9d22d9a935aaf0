"""Dictionaries that are kept as they were."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

from nodes.state.columns.shared import SharedDict, SharedSets, copied


def test_a_copy_is_nobody_elses() -> None:
    shared = SharedDict[str, int]()
    shared.own()["a"] = 1
    before = shared.share()
    copy = copied(before)
    copy["b"] = 2
    assert (before, shared.items, copy) == ({"a": 1}, {"a": 1}, {"a": 1, "b": 2})
    assert copied(ChainMap({"a": 1}, {"b": 2})) == copy


def test_what_is_shared_is_copied_without_asking_for_each_key() -> None:
    class Asked(dict[str, int]):
        """Notes each key that is asked for."""

        asked = 0

        def __getitem__(self, key: str) -> int:
            Asked.asked += 1
            return super().__getitem__(key)

    shared = SharedDict[str, int]()
    shared.items = Asked(a=1)
    found: Mapping[str, int] = copied(shared.share())
    assert found == {"a": 1}
    assert not Asked.asked


def test_copied_sets_do_not_change_with_those_that_they_were_copied_from() -> None:
    sets = SharedSets[str, int]()
    for key, member in (("a", 1), ("a", 2), ("b", 3)):
        sets.add(key, member)
    copy = sets.copied()
    sets.add("a", 4)
    sets.discard("b", 3)
    copy.discard("a", 1)
    assert [set(sets.get(key)) for key in "abc"] == [{1, 2, 4}, set(), set()]
    assert [set(copy.get(key)) for key in "abc"] == [{2}, {3}, set()]


def test_a_set_that_is_empty_again_is_not_kept() -> None:
    sets = SharedSets[str, int]()
    sets.discard("a", 1)
    sets.add("a", 1)
    sets.discard("a", 1)
    sets.add("a", 2)
    assert set(sets.get("a")) == {2}
