"""Frames of the map: they have what changed, and cost what changed. The page's tests read the cases of this file."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Set
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from answers.map.changing import Changing
from answers.map.choices import Choices
from answers.map.frame import Framing
from answers.map.whole import map_of
from answers.names import ALL, EVERYWHERE, Listed, Names
from api.times import parse_rfc3339
from nodes.state.pods.pods import PodTable
from nodes.state.tables import Tables
from tests.kit.answers.changer import Changer
from tests.kit.answers.rooms import GPU, NOW, OLD, WORLD, node, plan, pod
from tests.kit.answers.worlds import NAMESPACES, world
from tests.kit.clock import ManualClock
from tests.kit.followed import Followed, settled, with_counted_budgets

CASES: Final = Path(__file__).parents[3] / "web" / "app" / "test" / "frames.json"
AMOUNTS: Final = ("allocatable", "used", "leaving", "promised", "free", "anonymous")
WRITE: Final = "REPRIEVE_WRITE_FRAMES"


async def followed(objects: Any) -> Followed:
    found = Followed(list(objects), ManualClock(wall=parse_rfc3339(NOW)))
    await found.fill()
    return found


def shown(cluster: Followed, resource: str) -> Any:
    picture = cluster.source.picture().at(cluster.source.now())
    return json.loads(json.dumps(map_of(picture, ALL, None, "rack", resource).plain()))


async def test_a_frame_has_the_node_that_changed_and_no_other() -> None:
    cluster = await followed(WORLD)
    changes = cluster.source.changes()
    cluster.put(pod("more", "a", 1, "n1"))
    change = changes()
    assert change is not None
    frame = Framing(change, "rack", GPU).frame(ALL)
    assert frame is not None
    assert (frame["nodes"]["name"], frame["nodes"]["used"], frame["plans"]) == (["n1"], [1], None)
    assert (frame["topologyKeys"], frame["resources"], frame["gone"]) == (None, None, [])


async def test_a_plan_that_names_a_pod_of_another_namespace_tells_nothing_of_it() -> None:
    cluster = await followed([*WORLD[:-1], pod("secret-0", "b", 2, group="secret")])
    changes = cluster.source.changes()
    cluster.put(plan("train", "a", "Evicting", {"train-0": "n2", "secret-0": "n10"}, []))
    change = changes()
    assert change is not None
    frame = Framing(change, "rack", GPU).frame(ALL)
    assert frame is not None
    assert frame["nodes"]["name"] == ["n2"]
    assert "secret" not in json.dumps(frame)


async def test_a_plan_changes_when_the_node_of_a_victim_goes_and_comes() -> None:
    """Also if it promises nothing there. The pods of the node stay."""
    cluster = await followed([*WORLD[:-1], plan("train", "a", "Evicting", {"train-0": "n10"}, [OLD])])
    changes, victims = cluster.source.changes(), list[Any]()
    for act in (cluster.drop, cluster.put):
        act(node("n2", "r2"))
        change = changes()
        assert change is not None
        frame = Framing(change, "rack", GPU).frame(ALL)
        assert frame is not None
        (changed,) = frame["plans"]["changed"]
        victims.append(changed["victims"]["node"])
    assert victims == [[], ["n2"]]


async def test_another_list_of_resources_needs_another_map() -> None:
    cluster = await followed([node("n1", "r1", 8)])
    changes = cluster.source.changes()
    cluster.put(node("n1", "r1", 0))
    change = changes()
    assert change is not None
    assert Framing(change, "rack", GPU).frame(ALL) is None
    assert Framing(change, "rack", "cpu").frame(ALL) is not None


async def test_so_many_changes_that_nobody_knows_them_are_no_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.state.columns.change_log.REMEMBERED", 2)
    cluster = await followed([node("n1", "r1", 8)])
    changes = cluster.source.changes()
    for at in range(10):
        cluster.put(pod(f"p{at}", "a", 0, "n1"))
    assert changes() is None
    change = changes()
    assert change is not None
    assert change.is_empty


@pytest.mark.parametrize("nodes", [4, 400])
async def test_the_work_for_a_change_does_not_grow_with_the_cluster(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes whose pods are looked at, and names of nodes that are looked up."""
    pods = [pod(f"p{at}", "a", 0, f"m{at}") for at in range(nodes)]
    cluster = await followed([*WORLD, *(node(f"m{at}", "r1") for at in range(nodes)), *pods])
    tables = cluster.source._tables.tables
    changing = Changing(tables, cluster.source._plans.rooms())
    looked, on, find = list[int | str](), PodTable.on, tables.nodes.find

    def on_noted(table: PodTable, row: int) -> Set[int]:
        looked.append(row)
        return on(table, row)

    def find_noted(name: str) -> int | None:
        looked.append(name)
        return find(name)

    monkeypatch.setattr(PodTable, "on", on_noted)
    cluster.put(pod("more", "a", 0, "m1"))
    cluster.put(pod("other", "a", 0, "m2"))
    monkeypatch.setattr(tables.nodes, "find", find_noted)
    change = changing.next(cluster.source._plans.rooms())
    assert change is not None
    assert [each.name for each in change.nodes] == ["m1", "m2"]
    assert len(looked) == 6


class Tenant:
    """Who may list nodes, and everything in some namespaces."""

    def __init__(self, namespaces: Set[str]) -> None:
        self._namespaces = namespaces

    def lists(self, what: Listed, namespace: str = EVERYWHERE) -> bool:
        """See `Names`."""
        return what == "nodes" or namespace in self._namespaces


def by_node(told: dict[str, Any], names: Set[str]) -> dict[str, Any]:
    """What a map or a frame says of these nodes, with the names of gangs."""
    nodes, parts, gangs = told["nodes"], told["parts"], told["gangs"]
    found = {
        name: {column: nodes[column][at] for column in AMOUNTS} | {"parts": dict[Any, Any]()}
        for at, name in enumerate(nodes["name"])
        if name in names
    }
    for at, row in enumerate(parts["node"]):
        if (name := nodes["name"][row]) in names:
            gang = parts["gang"][at]
            key = (gangs["namespace"][gang], gangs["key"][gang]) if gang >= 0 else None
            found[name]["parts"][key] = tuple(parts[each][at] for each in ("pods", "used", "leaving"))
    return found


@pytest.mark.parametrize("seed", range(40))
async def test_whoever_looks_has_in_a_frame_what_their_map_has(seed: int) -> None:
    """Made by one `Framing` for all, which has what they have in common."""
    cluster, dice = await followed(with_counted_budgets(world(seed).objects)), Random(seed)
    changer, changes = Changer(cluster, dice), cluster.source.changes()
    for _ in range(10):
        changer.change()
    change = changes()
    await settled()
    assert change is not None
    framing = Framing(change, "rack", "cpu")
    readers: list[Names] = [
        ALL,
        *(Tenant({each for each in NAMESPACES if dice.random() < 0.5}) for _ in "abcd"),
    ]
    for names in readers:
        frame = framing.frame(names)
        assert frame == Framing(change, "rack", "cpu").frame(names)
        if frame is not None:
            picture = cluster.source.picture().at(cluster.source.now())
            whole = map_of(picture, names, sorted(NAMESPACES), "rack", "cpu").plain()
            changed = set(frame["nodes"]["name"])
            assert by_node(frame, changed) == by_node(whole, changed)


@pytest.mark.parametrize("seed", range(12))
async def test_choices_of_a_whole_cluster_are_those_of_its_nodes_and_groups_one_by_one(seed: int) -> None:
    cluster = await followed(world(seed).objects)
    tables = cluster.source._tables.tables
    empty = Choices.of(Tables())
    names = [key for key in tables.nodes.names.keys if key is not None]
    groups = [key for key in tables.groups.keys.keys if key is not None]
    one_by_one, whole = empty.after(tables, names, groups), Choices.of(tables)
    assert names
    assert one_by_one._counts == whole._counts
    assert (one_by_one.nodes, one_by_one.values, one_by_one.resources, one_by_one.named) == (
        whole.nodes,
        whole.values,
        whole.resources,
        whole.named,
    )


async def cases() -> list[dict[str, Any]]:
    """Maps, a frame, and the maps after it."""
    found = list[dict[str, Any]]()
    for seed in range(12):
        cluster = await followed(with_counted_budgets(world(seed).objects))
        changer, changes = Changer(cluster, Random(seed)), cluster.source.changes()
        before = shown(cluster, "cpu")
        for _ in range(5):
            changer.change()
        change = changes()
        await settled()
        frame = Framing(change, "rack", "cpu").frame(ALL) if change is not None else None
        if frame is not None:
            head = {"since": "p-1-r", "version": "p-2-r", "moment": NOW, "trouble": ""}
            after = shown(cluster, "cpu")
            found.append(
                {
                    "before": {**head, "version": "p-1-r", **before},
                    "frame": {**head, **frame},
                    "after": {**head, **after},
                }
            )
    for each in found:
        del each["before"]["since"], each["after"]["since"]
    return found


def differences(one: str, other: str) -> Iterator[tuple[str, str]]:
    pairs = zip(one.splitlines(), other.splitlines(), strict=False)
    return ((a, b) for a, b in pairs if a != b)


def test_the_page_is_tested_with_frames_as_they_are_now() -> None:
    """`REPRIEVE_WRITE_FRAMES=1 pytest tests/unit/answers/test_map_frames.py` writes them anew."""
    lines = [json.dumps(each, sort_keys=True) for each in asyncio.run(cases())]
    text = "[\n" + ",\n".join(lines) + "\n]\n"
    if os.environ.get(WRITE):
        CASES.write_text(text)
    assert json.loads(CASES.read_text()) == json.loads(text)
