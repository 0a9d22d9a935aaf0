"""PodGroups in queues: their pods wait for quota, run, leave whole, and wait again."""

from __future__ import annotations

from typing import Any, Final

import pytest

from hack.controlplane import objects
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.group_sandbox import OURS, QUEUE_NAME, GroupSandbox
from tests.e2e.support import condition, wait_for

WITHIN: Final[Json] = {"withinClusterQueue": "LowerPriority"}


@pytest.fixture(scope="module")
def box(quota_plane: ControlPlane) -> GroupSandbox:
    """A namespace that all tests share. Each has a queue of its own."""
    return GroupSandbox(quota_plane, "queued-groups")


def test_a_group_waits_for_members_and_for_quota_and_runs(box: GroupSandbox) -> None:
    box.queue("life", 2)
    box.workload("other", "life", 1)
    box.until_admitted("other")
    box.group("life", "life", 2)
    box.members("life", 2)
    workload = box.group_workload("life")
    box.until(workload, "QuotaReserved", "False", "WaitingForQuota")
    (pods,) = box.get(workload)["spec"]["podSets"]
    assert pods["count"] == 2
    assert pods["template"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    assert "schedulingGates" not in pods["template"]["spec"]
    assert box.bound("life") == []
    box.finish("other")
    box.until_bound("life", ["life-0", "life-1"])
    for each in box.member_pods("life").values():
        assert each["spec"]["nodeName"] == box.node
        assert each["metadata"]["labels"]["kueue.x-k8s.io/podset"] == pods["name"]

    box.member("life", "life-2")
    wait_for(
        lambda: box.pod_condition("life-2", "reprieve.dev/Admitted").get("reason") == "BeyondAdmittedCount"
    )
    box.client.delete("v1", "Pod", "life-1", box.name, grace_seconds=0)
    box.until_bound("life", ["life-0", "life-2"])
    wait_for(lambda: box.pod_condition("life-2", "reprieve.dev/Admitted").get("status") == "True")


def test_a_group_that_loses_its_quota_leaves_whole_and_comes_back(box: GroupSandbox) -> None:
    box.queue("lost", 2, preemption=WITHIN)
    box.group("lost", "lost", 2)
    box.members("lost", 2)
    box.until_bound("lost", ["lost-0", "lost-1"])
    workload = box.group_workload("lost")
    box.workload("high", "lost", 1, priority=10)
    box.until_admitted("high")
    assert box.conditions(workload)["Evicted"] == ("True", "Preempted")
    assert box.bound("lost") == []
    (plan,) = box.plans("Withdraws")
    assert len(plan["spec"]["victims"]) == 1
    assert {each["name"] for each in plan["spec"]["victims"][0]["pods"]} == {"lost-0", "lost-1"}

    box.members("lost", 2)
    box.until(workload, "QuotaReserved", "False", "WaitingForQuota")
    box.finish("high")
    box.until_bound("lost", ["lost-0", "lost-1"])


def test_members_without_a_gate_are_held_until_the_group_is_admitted(box: GroupSandbox) -> None:
    """The webhook was down. The flavor asks for no other node than they do."""
    box.queue("held", 1)
    box.workload("other-held", "held", 1)
    box.until_admitted("other-held")
    box.group("held", "held", 1)
    where: Any = {"nodeSelector": {"example.com/pool": "queued-groups"}}
    tolerated = {"key": "example.com/pool", "operator": "Exists", "effect": "NoSchedule"}
    box.member("held", "held-0", gates=False, tolerations=[tolerated], **where)
    workload = box.group_workload("held")
    box.until(workload, "QuotaReserved", "False", "WaitingForQuota")
    wait_for(lambda: "waits for quota" in box.pod_condition("held-0", "PodScheduled").get("message", ""))
    box.finish("other-held")
    box.until_bound("held", ["held-0"])


def test_a_group_that_goes_for_another_on_nodes_gives_its_quota_back(box: GroupSandbox) -> None:
    """Another one waits for it, and goes first."""
    box.queue("nodes", 45)
    box.client.create(objects.priority_class(box.of("high"), 1000))
    box.group("nodes", "nodes", 2, mode="all")
    box.members("nodes", 2, cpu="20")
    box.until_bound("nodes", ["nodes-0", "nodes-1"])
    workload = box.group_workload("nodes")
    box.workload("waits", "nodes", 10, priority=1)
    box.until("waits", "QuotaReserved", "False", "WaitingForQuota")
    where: Any = {"nodeSelector": {"example.com/pool": "queued-groups"}}
    tolerated = {"key": "example.com/pool", "operator": "Exists", "effect": "NoSchedule"}
    high = objects.pod_group("urgent", box.name, min_count=1, priority_class=box.of("high"))
    box.client.create(high)
    box.client.create(
        objects.pod(
            "urgent-0",
            box.name,
            group="urgent",
            cpu="50",
            priority_class=box.of("high"),
            tolerations=[tolerated],
            **where,
        )
    )
    box.until_bound("urgent", ["urgent-0"])
    box.until_admitted("waits")
    found = box.until(workload, "QuotaReserved", "False")
    assert box.conditions(workload)["Evicted"] == ("True", "Preempted"), found
    evicted = condition(box.get(workload), "Evicted")
    assert evicted is not None
    assert "Preempted on nodes" in evicted["message"]


def test_a_group_that_runs_without_quota_leaves_and_queues(box: GroupSandbox) -> None:
    """It ran when it got its queue."""
    box.queue("late", 1)
    box.workload("other-late", "late", 1)
    box.until_admitted("other-late")
    box.client.create(objects.pod_group("late", box.name, min_count=1))
    where: Any = {"nodeSelector": {"example.com/pool": "queued-groups"}}
    tolerated = {"key": "example.com/pool", "operator": "Exists", "effect": "NoSchedule"}
    box.member("late", "late-0", gates=False, tolerations=[tolerated], **where)
    box.until_bound("late", ["late-0"])
    box.client.patch(OURS, "PodGroup", "late", {"metadata": {"labels": {QUEUE_NAME: "late"}}}, box.name)
    wait_for(lambda: not box.member_pods("late"), what=lambda: str(box.member_pods("late")))
    (plan,) = [each for each in box.plans("Withdraws") if each["spec"]["preemptor"]["name"] == "late"]
    assert plan["spec"]["reason"].endswith("has no quota: it was bound before it was admitted")


def test_the_quota_of_members_that_succeeded_is_free(box: GroupSandbox) -> None:
    box.queue("part", 2)
    box.group("part", "part", 2)
    box.members("part", 2)
    box.until_bound("part", ["part-0", "part-1"])
    box.workload("next", "part", 1)
    box.until("next", "QuotaReserved", "False", "WaitingForQuota")
    ended = {"status": {"phase": "Succeeded"}}
    box.client.patch("v1", "Pod", "part-0", ended, box.name, "status")
    box.until_admitted("next")
    assert box.get(box.group_workload("part"))["status"]["reclaimablePods"] == [
        {"name": box.get(box.group_workload("part"))["spec"]["podSets"][0]["name"], "count": 1}
    ]
