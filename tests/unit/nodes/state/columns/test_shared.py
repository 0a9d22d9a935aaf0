"""Dictionaries that are kept as they were."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

from nodes.state.columns.shared import SharedDict, copied


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
