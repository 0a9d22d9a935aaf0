"""KEP-8303: a Workload that waits for a closed gate says what its preemption would cost, and nobody is evicted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Final

from api.times import parse_rfc3339
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.node_sandbox import NodeSandbox
from tests.e2e.pages import shell
from tests.e2e.questions import WAITS
from tests.e2e.quota_sandbox import KUEUE, QuotaSandbox
from tests.e2e.support import REPRIEVE, wait_for

Sandboxes = Callable[[str], QuotaSandbox]
WITHIN: Final[Json] = {"withinClusterQueue": "LowerPriority"}
GATE: Final = "example.com/g"
EVERY_SECONDS: Final = 10


def plans(box: QuotaSandbox, name: str) -> list[Json]:
    """The plans of the Workload."""
    found = box.client.list(REPRIEVE, "PreemptionPlan", box.name)
    return [each for each in found if each["spec"]["preemptor"]["name"] == name]


def proposal(box: QuotaSandbox, name: str, **cost: int) -> Json:
    """What is proposed for the Workload, once its cost is so."""

    def look() -> Json | None:
        found = plans(box, name)
        assert len(found) <= 1
        for each in found:
            if (
                each.get("status", {}).get("phase") == "Proposed"
                and cost.items() <= each["spec"]["cost"].items()
            ):
                return each
        return None

    return wait_for(look, what=lambda: f"{plans(box, name)}; {box.report()}")


def until_none(box: QuotaSandbox, name: str) -> None:
    wait_for(lambda: not plans(box, name), what=lambda: str(plans(box, name)))


def evicted(box: QuotaSandbox) -> set[str]:
    return {name for name in box.names() if box.is_true(name, "Evicted")}


def asked(box: QuotaSandbox, question: str, code: int) -> Json:
    result = shell(box.plane, f"reprieve {question} -o json")
    assert result.returncode == code, result.stderr
    answer: Json = json.loads(result.stdout)
    return answer


def filled(quotas: Sandboxes, name: str) -> QuotaSandbox:
    """Two Workloads of low priority fill the queue, and one with a closed gate waits."""
    box = quotas(name)
    box.queue("q", 4, preemption=WITHIN)
    box.workload("low", "q", 1, pods=2, priority=3)
    box.workload("lower", "q", 1, pods=2, priority=-5)
    box.until_admitted("low", "lower")
    box.workload("gated", "q", 4, priority=10, gates=[GATE])
    return box


def test_the_cost_is_stored_and_the_real_plan_takes_its_place(quotas: Sandboxes) -> None:
    box = filled(quotas, "cost")
    since = time.time()
    box.set_since("low", "Admitted", 1000)
    found = proposal(box, "gated", highestVictimPriority=3, prioritySum=-2, workloads=2, pods=4)
    assert {each["name"]: each["quota"]["reason"] for each in found["spec"]["victims"]} == {
        "low": "InClusterQueue",
        "lower": "InClusterQueue",
    }
    assert (found["spec"]["outcome"], found["spec"]["placements"]) == ("Proposes", [])
    box.until("gated", "BlockedOnPreemptionGates", "True", "PreemptionGated")
    box.rest()
    assert not evicted(box)
    assert proposal(box, "gated")["metadata"]["uid"] == found["metadata"]["uid"], "it is written once"

    said = asked(box, f"why workload {box.name}/gated", WAITS)
    assert said["plan"] == f"{box.name}/{found['metadata']['name']}"
    assert f"It waits for preemption gate {GATE}: 2 Workloads would have to be preempted" in said["sentence"]
    assert said["numbers"]["victimPods"] == 4
    assert not asked(box, f"who-evicted {box.name}/low", 3)["evictions"]

    # Another decision is another object, and not at once. Time alone is no other decision.
    box.patch_spec("Workload", "low", {"priority": 4}, namespaced=True)
    after = proposal(box, "gated", highestVictimPriority=4)
    stamps = [parse_rfc3339(each["metadata"]["creationTimestamp"]) for each in (found, after)]
    assert stamps[1] - stamps[0] >= EVERY_SECONDS - 1, "times of objects have whole seconds"
    spent = time.time() - since
    assert 2 * 1000 <= after["spec"]["cost"]["podSeconds"] <= 2 * 1000 + 4 * (spent + 60)

    box.open_gate("gated", GATE)
    box.until("low", "Evicted", "True", "Preempted")
    (real,) = wait_for(
        lambda: [each for each in plans(box, "gated") if each["status"]["phase"] == "Evicting"]
    )
    wait_for(lambda: len(plans(box, "gated")) == 1)
    assert (real["spec"]["outcome"], "cost" in real["spec"]) == ("Preempts", False)
    for name in ("low", "lower"):
        box.end(name)
    box.until_admitted("gated")


def test_none_is_left_when_the_wait_ends(quotas: Sandboxes) -> None:
    box = filled(quotas, "ends")
    for name in ("deleted", "leaves"):
        box.workload(name, "q", 3, priority=9, gates=[GATE])
    for name in ("gated", "deleted", "leaves"):
        proposal(box, name)
    box.client.delete(KUEUE, "Workload", "deleted", box.name)
    until_none(box, "deleted")
    box.patch_spec("Workload", "leaves", {"queueName": "nowhere"}, namespaced=True)
    until_none(box, "leaves")
    box.patch_spec("Workload", "gated", {"active": False}, namespaced=True)
    until_none(box, "gated")
    box.patch_spec("Workload", "gated", {"active": True}, namespaced=True)
    proposal(box, "gated")
    for name in ("low", "lower"):
        box.finish(name)
    box.until_admitted("gated")
    until_none(box, "gated")
    assert not evicted(box) - {"gated"}


def test_a_restart_evicts_nobody_and_puts_them_in_order(quota_plane: ControlPlane, quotas: Sandboxes) -> None:
    box = filled(quotas, "restart")
    box.workload("opened", "q", 3, priority=9, gates=[GATE])
    box.workload("deleted", "q", 3, priority=9, gates=[GATE])
    before = {name: proposal(box, name) for name in ("gated", "opened", "deleted")}
    quota_plane.reprieve.stop()
    box.client.delete(KUEUE, "Workload", "deleted", box.name)
    # As if the former process had died before it wrote the phase.
    unfinished = before["opened"]["metadata"]["name"]
    box.client.patch(REPRIEVE, "PreemptionPlan", unfinished, {"status": {"phase": None}}, box.name, "status")
    quota_plane.start_reprieve()
    until_none(box, "deleted")
    wait_for(lambda: unfinished not in {each["metadata"]["name"] for each in plans(box, "opened")})
    proposal(box, "opened")
    box.rest()
    assert not evicted(box)
    assert proposal(box, "gated")["metadata"]["uid"] == before["gated"]["metadata"]["uid"]


def test_a_gate_is_signalled_only_for_pods_that_would_find_places(quota_plane: ControlPlane) -> None:
    """A copy of a manager has no Job yet. Quota would let it preempt, and none of its pods fits a node."""
    box = NodeSandbox(quota_plane, "placeless", 4)
    box.queue("team", 32, preemption=WITHIN)
    for node in range(4):
        box.one(f"high-{node}", "team", 6, "high", node)
        box.one(f"low-{node}", "team", 2, "low", node)
    box.until_runs(*(f"{level}-{node}" for node in range(4) for level in ("high", "low")))
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": 8}}}
    pod = {"containers": [container], "priorityClassName": box.classes["middle"], "restartPolicy": "Never"}
    spec = {
        "queueName": "team",
        "priority": 20,
        "preemptionGates": [{"name": GATE}],
        "podSets": [{"name": "main", "count": 1, "template": {"spec": pod}}],
    }
    labels = {"kueue.x-k8s.io/multikueue-origin": "manager"}
    meta = {"name": "copy", "namespace": box.name, "labels": labels}
    box.client.create({"apiVersion": KUEUE, "kind": "Workload", "metadata": meta, "spec": spec})
    said = box.until("copy", "QuotaReserved", "False", "WaitingForQuota")
    assert "find no place on nodes" in said["message"]
    box.rest()
    assert not box.is_true("copy", "BlockedOnPreemptionGates")
    assert plans(box, "copy") == []

    box.add_node(f"{box.name}-new")
    proposal(box, "copy", workloads=4, pods=4, highestVictimPriority=10)
    box.until("copy", "BlockedOnPreemptionGates", "True", "PreemptionGated")
    box.client.delete("v1", "Node", f"{box.name}-new")
    wait_for(lambda: not box.is_true("copy", "BlockedOnPreemptionGates"), what=box.report)
    until_none(box, "copy")
    assert not evicted(box)
