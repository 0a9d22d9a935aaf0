"""Whoever looks at the map of whatever cluster: its columns, its parts and the panels of its nodes agree."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from answers.map.panel import node_of
from answers.map.whole import map_of
from answers.names import ALL, EVERYWHERE, Listed, Names
from answers.reading.details import DetailedObjects
from answers.reading.quota_objects import read_time
from tests.kit.answers.worlds import NAMESPACES, NOW, world
from tests.kit.examples import examples

AMOUNTS = ("allocatable", "used", "leaving", "promised", "free", "anonymous")


class Tenant:
    """Who may list nodes, and everything in some namespaces."""

    def __init__(self, namespaces: frozenset[str]) -> None:
        self._namespaces = namespaces

    def lists(self, what: Listed, namespace: str = EVERYWHERE) -> bool:
        """See `Names`."""
        return what == "nodes" or namespace in self._namespaces


def read(seed: int) -> DetailedObjects:
    objects = DetailedObjects(read_time(NOW, "now"))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": world(seed).objects})
    objects.add_file(text.encode(), "world")
    return objects


def sums(columns: dict[str, list[int]], amount: str) -> Counter[int]:
    """By node."""
    found = Counter[int]()
    for node, each in zip(columns["node"], columns[amount], strict=True):
        found[node] += each
    return +found


def shown(nodes: dict[str, list[int]], amount: str) -> Counter[int]:
    return +Counter(dict(enumerate(nodes[amount])))


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32), st.frozensets(st.sampled_from(NAMESPACES)), st.sampled_from(("cpu", "memory")))
def test_all_that_is_said_of_a_node_agrees(seed: int, spaces: frozenset[str], resource: str) -> None:
    objects = read(seed)
    picture, tenant = objects.picture(), Tenant(spaces)
    before = picture.nodes.snapshot.used.copy()
    whole = map_of(picture, ALL, None, "rack", resource).plain()
    found = map_of(picture, tenant, sorted(spaces), "rack", resource).plain()
    agree(found)
    agree(whole)
    assert set(whole["nodes"]["anonymous"]) <= {0}
    for name in ("name", "block", "allocatable", "free"):
        assert found["nodes"][name] == whole["nodes"][name]
    for names, told in ((ALL, whole), (tenant, found)):
        panels_agree(objects, names, told)
    assert (picture.nodes.snapshot.used == before).all()


def agree(found: dict[str, Any]) -> None:
    nodes, parts = found["nodes"], found["parts"]
    assert sums(parts, "used") == shown(nodes, "used")
    assert sums(parts, "leaving") == shown(nodes, "leaving")
    promised = sum((sums(each["promised"], "amount") for each in found["plans"]), Counter[int]())
    assert promised == shown(nodes, "promised")
    assert all(amount >= 0 for name in AMOUNTS for amount in nodes[name])


def panels_agree(objects: DetailedObjects, names: Names, found: dict[str, Any]) -> None:
    for at, name in enumerate(found["nodes"]["name"]):
        panel = node_of(objects.picture(), objects.details, names, name)
        assert panel is not None
        room = {each["name"]: each for each in panel.resources}.get(found["resource"], {})
        for amount in AMOUNTS:
            assert room.get(amount, 0) == found["nodes"][amount][at]
        requests = sum(each["requests"].get(found["resource"], 0) for each in panel.pods)
        assert requests == found["nodes"]["used"][at]
