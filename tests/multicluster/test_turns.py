"""Preemption gates: one cluster at a time preempts, the cheapest first, and the DispatchPlan says why (KEP-8303)."""

from __future__ import annotations

import time

from api.times import parse_rfc3339
from hack.controlplane.client import Json
from tests.e2e.support import REPRIEVE, wait_for
from tests.kit.often import SELDOM
from tests.multicluster.box import Box, Boxes
from tests.multicluster.trio import WORKERS, Trio


def _turns(box: Box) -> list[Json]:
    found = box.manager.client.list(REPRIEVE, "DispatchPlan", box.name)
    return sorted(found, key=lambda plan: int(plan["spec"]["number"]))


def _transitions(box: Box, cluster: str) -> list[str]:
    """Names of the Workloads there that were ever evicted."""
    found = box.places[cluster].client.list("kueue.x-k8s.io/v1beta2", "Workload", box.name)
    return sorted(
        each["metadata"]["name"]
        for each in found
        if each["status"].get("schedulingStats", {}).get("evictions")
    )


def test_victims_are_in_the_cheaper_cluster_only(boxes: Boxes) -> None:
    """KEP-8303, Story 1: low priority fills both clusters, and a gang of four comes."""
    box = boxes("story")
    for number in range(4):
        box.fill("alpha", f"a{number}", 1, priority=5)
        box.fill("beta", f"b{number}", 1, priority=1)
    box.job("gang", 4, priority=100)
    workload = box.workload_of("gang")
    assert box.until_admitted(workload) == "beta"
    box.beta.until_running("gang", 4)
    assert _transitions(box, "alpha") == []
    assert len(_transitions(box, "beta")) == 4
    (turn,) = _turns(box)
    assert turn["spec"]["cluster"] == "beta"
    costs = {each["name"]: each["cost"] for each in turn["spec"]["clusters"]}
    assert [costs["alpha"]["highestVictimPriority"], costs["beta"]["highestVictimPriority"]] == [5, 1]
    assert [costs[name]["workloads"] for name in WORKERS] == [4, 4]
    wait_for(lambda: _turns(box)[0]["status"]["phase"] == "Admitted", what=lambda: f"{_turns(box)}")


def test_a_cluster_with_room_wins_in_the_window_and_nobody_is_evicted(boxes: Boxes) -> None:
    box = boxes("room", alpha=2, beta=2)
    box.fill("alpha", "low", 2)
    box.job("high", 2, priority=9)
    workload = box.workload_of("high")
    assert box.until_admitted(workload) == "beta"
    assert _transitions(box, "alpha") == []
    assert _turns(box) == []


def test_the_next_gate_opens_when_the_turn_is_over_and_the_first_is_closed(boxes: Boxes) -> None:
    """9852: the time-out is a setting here. The victims in the cheaper cluster do not end in time."""
    box = boxes("turns", alpha=2, beta=2)
    box.fill("alpha", "low", 2, priority=1, stays=True)
    box.fill("beta", "low", 2, priority=2)
    box.job("high", 2, priority=9)
    workload = box.workload_of("high")
    assert box.until_admitted(workload) == "beta"
    first, second = _turns(box)
    assert [first["spec"]["cluster"], second["spec"]["cluster"]] == ["alpha", "beta"]
    assert parse_rfc3339(second["spec"]["began"]) >= parse_rfc3339(first["spec"]["until"])
    assert (first["status"]["phase"], first["spec"]["number"]) == ("TimedOut", 1)
    box.until_no_copy(workload, "alpha")


@SELDOM
def test_a_gate_stays_open_when_no_other_cluster_waits_for_a_turn(boxes: Boxes) -> None:
    """Also when the time of its turn is over."""
    box = boxes("alone", alpha=2, beta=2)
    box.fill("alpha", "low", 2, priority=1, stays=True)
    box.fill("beta", "high", 2, priority=9)
    box.job("middle", 2, priority=5)
    workload = box.workload_of("middle")
    box.until_gate(workload, "alpha", "Open")
    until = parse_rfc3339(_turns(box)[0]["spec"]["until"])
    wait_for(lambda: time.time() > until + 1, what=lambda: "time stands still")
    assert box.gate(workload, "alpha") == "Open"
    assert len(_turns(box)) == 1
    box.let_go("alpha", "low")
    assert box.until_admitted(workload) == "alpha"


def test_a_turn_of_a_workload_that_is_gone_is_deleted_after_a_while(boxes: Boxes, trio: Trio) -> None:
    box = boxes("old")
    workload = {"name": "gone", "uid": "gone", "attempt": "2025-12-01T00:00:00Z", "priority": 0}
    turn = {"number": 1, "cluster": "alpha", "order": "LeastDisruption", "reason": "-", "clusters": []}
    times = {"began": "2025-12-01T00:00:00.000000Z", "until": "2025-12-01T00:05:00.000000Z"}
    meta = {"name": "old", "namespace": box.name}
    spec = {"workload": workload, **turn, **times}
    box.manager.client.create(
        {"apiVersion": REPRIEVE, "kind": "DispatchPlan", "metadata": meta, "spec": spec}
    )
    trio.restart_manager(planRetentionSeconds=1)
    wait_for(
        lambda: box.manager.client.find(REPRIEVE, "DispatchPlan", "old", box.name) is None, what=box.story
    )
