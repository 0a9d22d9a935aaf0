"""Whose gate opens first: equal costs, and costs that change while the first gate waits.

See controllers/multikueue/life/order.py.
"""

from __future__ import annotations

from typing import Final

from hack.controlplane.client import Json
from tests.e2e.support import REPRIEVE, wait_for
from tests.kit.often import SELDOM
from tests.multicluster.box import Box, Boxes
from tests.multicluster.trio import WORKERS, Trio

LONG_AGO: Final = 1000.0
"""Seconds."""


def _proposed(box: Box, cluster: str) -> list[int]:
    """The highest priority of a victim in each proposal there."""
    plans = box.places[cluster].client.list(REPRIEVE, "PreemptionPlan", box.name)
    costs = [each["spec"].get("cost") for each in plans if each.get("status", {}).get("phase") == "Proposed"]
    return [cost["highestVictimPriority"] for cost in costs if cost]


def _until_turn(box: Box, workload: str) -> Json:
    """The spec of the first DispatchPlan of a Workload."""

    def look() -> Json | None:
        found = box.manager.client.list(REPRIEVE, "DispatchPlan", box.name)
        mine = [each["spec"] for each in found if each["spec"]["workload"]["name"] == workload]
        return next((each for each in mine if each["number"] == 1), None)

    return wait_for(look, what=lambda: f"no cluster has a turn for {workload}\n{box.story()}")


@SELDOM
def test_equal_costs_go_by_the_gates_that_are_open_and_then_by_the_work_that_is_lost(
    boxes: Boxes, trio: Trio
) -> None:
    """Priorities, Workloads and pods of the victims are equal in both clusters, for both Jobs. The victims do not end,
    so the gate of the first Job stays open while the second one comes."""
    trio.restart_manager(singleClusterPreemptionTimeoutSeconds=600, nonPreemptingWindowSeconds=20)
    turns = []
    for name in ("first", "second"):
        box = boxes(name, alpha=2, beta=2)
        old = box.fill("alpha", "low", 2, priority=1, stays=True)
        box.alpha.set_since(old, "Admitted", LONG_AGO)
        box.fill("beta", "low", 2, priority=1, stays=True)
        box.job("high", 2, priority=9)
        turns.append(_until_turn(box, box.workload_of("high")))
        box.until_gate(box.workload_of("high"), turns[-1]["cluster"], "Open")
    for turn in turns:
        assert _equal(turn) == (1, 1, 1, 2)
        lost = {each["name"]: each["cost"]["podSeconds"] for each in turn["clusters"]}
        assert lost["beta"] + LONG_AGO < lost["alpha"]
    gates = [[each["openGates"] for each in turn["clusters"]] for turn in turns]
    assert gates == [[0, 0], [0, 1]]
    assert [turn["cluster"] for turn in turns] == ["beta", "alpha"]


def _equal(turn: Json) -> tuple[int, ...]:
    """What the clusters say alike: the highest priority, the sum, Workloads, pods."""
    names = ("highestVictimPriority", "prioritySum", "workloads", "pods")
    one, other = (tuple(each["cost"][name] for name in names) for each in turn["clusters"])
    assert one == other
    return one


@SELDOM
def test_of_costs_that_change_in_the_window_the_newest_one_counts(boxes: Boxes, trio: Trio) -> None:
    """The window lasts because beta has not looked at its copy. By then alpha is the cheaper one; in the end it is
    not."""
    trio.restart_manager(nonPreemptingWindowSeconds=300)
    box = boxes("changes", alpha=2, beta=2)
    low = box.fill("alpha", "low", 2, priority=1)
    box.fill("beta", "low", 2, priority=2)
    trio.stop("beta")
    box.job("high", 2, priority=9)
    workload = box.workload_of("high")
    wait_for(lambda: _proposed(box, "alpha") == [1], what=box.story)
    box.alpha.patch_spec("Workload", low, {"priority": 5}, namespaced=True)
    wait_for(lambda: _proposed(box, "alpha") == [5], what=box.story)
    assert box.manager.client.list(REPRIEVE, "DispatchPlan", box.name) == []
    trio.start("beta")
    turn = _until_turn(box, workload)
    costs = {each["name"]: each["cost"]["highestVictimPriority"] for each in turn["clusters"]}
    assert (turn["cluster"], costs) == ("beta", dict(zip(WORKERS, (5, 2), strict=True)))
    assert box.until_admitted(workload) == "beta"
    box.alpha.until_running("low", 2)
