"""Each row of the table of kinds has a case in `answers/own/kinds.yaml`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from nodes.groups.kinds.table import KINDS, UNREAD

CASES: Final[list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parent / "answers/own/kinds.yaml").read_text()
)


def submitted() -> Iterator[tuple[str, str]]:
    """apiVersion and kind of each object that a case submits."""
    for case in CASES:
        thing = case["files"]["sub.json"]
        for each in thing["items"] if thing["kind"] == "List" else [thing]:
            yield each["apiVersion"], each["kind"]


def test_each_kind_whose_pods_are_known_has_a_case() -> None:
    assert {(each.api_version, each.kind) for each in KINDS} - {*submitted()} == set()


def test_each_kind_that_is_named_as_not_known_has_a_case() -> None:
    of_groups = {(version.rpartition("/")[0], kind) for version, kind in submitted()}
    assert UNREAD.keys() - of_groups == set()


def test_no_kind_is_in_the_table_twice() -> None:
    names = [(each.api_version, each.kind) for each in KINDS]
    assert len(names) == len(set(names))
    assert {(each.group, each.kind) for each in KINDS}.isdisjoint(UNREAD)
