"""Pods that nobody may evict: static pods, and pods of DaemonSets unless the configuration lets them go."""

from __future__ import annotations

from typing import Any

import pytest

from nodes.search.decision import decide_group
from nodes.search.survivors import survivors
from nodes.state.costs import CostRules
from nodes.state.potential import potential
from tests.kit.objects import gang, node, pod, tables
from tests.unit.nodes.search.support import NS, decide, names

BIG = {"cpu": "4"}
STATIC: dict[str, Any] = {"mirror": True}
DAEMON: dict[str, Any] = {"owner": ("apps/v1", "DaemonSet", "agent")}
EVICTED = CostRules(daemon_set_pods="Evict")


def there(**fields: Any) -> list[Any]:
    """A full node with one pod, and a gang of one that needs it."""
    low = pod("low", node="n0", requests=BIG, priority=1, **fields)
    return [gang(minimum=1), pod("m0", group="gang", requests=BIG), node("n0"), low]


@pytest.mark.parametrize(
    ("fields", "costs", "victims"),
    [
        (STATIC, CostRules(), []),
        (DAEMON, CostRules(), []),
        ({}, CostRules(), ["low"]),
        (STATIC, EVICTED, []),
        (DAEMON, EVICTED, ["low"]),
        ({"owner": ("apps/v1", "StatefulSet", "agent")}, CostRules(), ["low"]),
    ],
)
def test_who_may_go(fields: dict[str, Any], costs: CostRules, victims: list[str]) -> None:
    objects = there(**fields)
    assert names(decide(*objects, costs=costs)) == victims
    state = tables(*objects, costs=costs)
    room = potential(state, 0)
    assert len(room.levels) == len(victims), "the quick check counts the same pods"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (STATIC, "a static pod, which may not be evicted"),
        (DAEMON, "a pod of a DaemonSet, which may not be evicted"),
    ],
)
def test_why_they_stay(fields: dict[str, Any], why: str) -> None:
    other = pod("other", node="n1", requests=BIG, priority=0)
    snapshot = tables(*there(**fields), node("n1"), other).snapshot()
    stay = survivors(snapshot, decide_group(snapshot, NS, "gang"))
    assert {unit.name: unit.why for unit in stay.units}["default/low"] == why
