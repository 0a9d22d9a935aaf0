"""What kube-scheduler does with groups of its own kind, shown with an extender that answers as the test says.

reprieve has no part in it, and counts on all of it. A version that does something else fails here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from tests.e2e.natives import (
    GENERIC_WORKLOAD,
    HIGH,
    LONGEST_BACKOFF,
    OTHER_SCHEDULER,
    Call,
    Natives,
    everybody,
    nobody,
    words,
)
from tests.e2e.other_kinds import NATIVE
from tests.e2e.support import wait_for
from tests.kit.versions import IN_MATRIX, needs, needs_set_up_with

pytestmark = [
    needs(NATIVE, "there are no native groups"),
    needs_set_up_with(GENERIC_WORKLOAD),
]

HOSTNAME = "kubernetes.io/hostname"
LINGERS = "example.com/lingers"
"""A finalizer: its pod terminates until the test lets it go."""
OF_TWO = "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, pod group preemption: "
"""How the condition of a gang of two begins after the first one fits nowhere."""
ONGOING = "ongoing preemption on nominated nodes"
FAULTY = ("SchedulerError", "PodGroupError")
"""The reason of a group that is never tried, until 1.37 and from 1.38 on."""


def places(calls: Sequence[Call]) -> dict[str, str]:
    """By pod: the node of calls with one name each."""
    assert {len(call.nodes) for call in calls} == {1}
    return {call.pod: call.nodes[0] for call in calls}


def backoff(turned_down: int, members: int) -> float:
    """The minimum seconds that a group waits after it was turned down this often in a row."""
    return min(2.0 ** (turned_down - 1), LONGEST_BACKOFF * math.sqrt(members))


def gap(calls: Sequence[Call], number: int) -> float:
    """The seconds before the call of this number, from 1 on."""
    return calls[number].at - calls[number - 1].answered


def test_filter_is_called_for_one_member_after_the_other_and_preempt_never(natives: Natives) -> None:
    """It is not called for a member for which no node passes in-tree. When the room is free, a call names the node
    that the scheduler nominated, and no other."""
    natives.sandbox.full_nodes(3)
    small = [natives.member("gang", f"small-{number}") for number in range(3)]
    natives.member("gang", "big", cpu="9")
    natives.group("gang", 3)
    natives.open("big", *small)
    bound = natives.wait_bound(*small)
    said = wait_for(lambda: natives.fits_nowhere("big"), what=natives.sandbox.report)
    assert "3 Insufficient cpu" in said

    calls = list(natives.calls)
    assert all(before.answered <= after.at for before, after in pairwise(calls))
    simulated, real = calls[:3], calls[3:]
    assert {call.pod for call in simulated} == {call.pod for call in real} == set(small)
    assert [len(call.nodes) for call in simulated] == [3, 2, 1]
    for before, after in pairwise(simulated):
        assert set(before.nodes) - set(after.nodes) == {bound[before.pod]}
    assert places(real) == bound

    single = natives.sandbox.node("single", cpu="1")
    natives.sandbox.filler("low-single", single, 1)
    natives.sandbox.pod("single", priority=HIGH)
    natives.sandbox.wait_bound("single")
    assert natives.preempt_calls == ["single"]


def test_the_condition_says_the_result_of_an_attempt_and_events_name_the_group(natives: Natives) -> None:
    nodes = natives.sandbox.nodes(2, cpu="1")
    victims = [
        *natives.sandbox.filler("low-0", nodes[0], 1, finalizers=[LINGERS]),
        *natives.sandbox.filler("low-1", nodes[1], 1, finalizers=[LINGERS]),
    ]
    members = natives.gang("gang", 2)
    first = natives.said("gang")
    assert words(first) == f"{OF_TWO}found a placement for podgroup, preempting 2 victims"
    wait_for(lambda: natives.sandbox.history.evicted() == victims)
    natives.sandbox.release(victims[0])
    # The first member takes the free node, and the other one fits nowhere.
    second = natives.said("gang", ONGOING)
    assert words(second) == OF_TWO.replace("0 scheduled, 1", "1 scheduled, 0") + ONGOING
    assert places(natives.calls[2:]) == {members[0]: "n0"}

    events = wait_for(lambda: natives.sandbox.events("Preempted")[1:] and natives.sandbox.events("Preempted"))
    uid = natives.object("gang")["metadata"]["uid"]
    assert {event["note"] for event in events} == {f"Preempted by podgroup {uid} on node cluster"}
    assert {(event["related"]["kind"], event["related"]["uid"]) for event in events} == {("PodGroup", uid)}
    assert sorted(event["regarding"]["name"] for event in events) == victims

    natives.sandbox.release(victims[1])
    natives.wait_bound(*members)
    last = wait_for(lambda: natives.scheduled("gang"))
    assert (first["status"], first["reason"], last["reason"]) == ("False", "Unschedulable", "Scheduled")


def test_the_condition_says_why_nobody_is_evicted(natives: Natives) -> None:
    natives.sandbox.full_nodes(1)
    never = natives.sandbox.priority(HIGH, policy="Never")
    natives.group("never", 1, priority_class=never)
    natives.sandbox.client.create(
        natives.sandbox.pod_body("never-0", schedulingGroup={"podGroupName": "never"}, priority_class=never)
    )
    natives.gang("large", 1, cpu="9")
    natives.group("low", 1, priority=5)
    natives.open(natives.member("low", "low", priority=5))
    natives.offer = nobody
    natives.gang("held", 1)
    texts = {name: words(natives.said(name)) for name in ("never", "large", "low", "held")}
    full = "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining"
    common = f"{full}, deallocation and deletion of ResourceClaims completed, pod group preemption:"
    assert texts == {
        "never": f"{common} not eligible due to preemptionPolicy=Never.",
        "large": f"{common} {full}",
        "low": f"{full}, pod group preemption: No preemption victims found for incoming preemptor",
        "held": f"{common} {full}",
    }
    assert {call.pod for call in natives.calls} == {"held-0"}


def test_a_group_counts_as_scheduled_before_its_pods_are_bound(natives: Natives) -> None:
    """Nobody provisions the volume, so the binding waits."""
    client, name = natives.sandbox.client, f"{natives.sandbox.namespace}-waiting"
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    client.create({**storage, "provisioner": "example.com/none", "volumeBindingMode": "WaitForFirstConsumer"})
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    meta = {"name": "claim", "namespace": natives.sandbox.namespace}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}
    client.create({**body, "spec": {**claim, "storageClassName": name}})
    natives.sandbox.node("n0", cpu="1")
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}
    natives.gang("gang", 1, volumes=[volume])
    wait_for(lambda: natives.scheduled("gang"), what=lambda: natives.object("gang"))
    natives.sandbox.node("n1", cpu="1")
    natives.wait_awake("awake")
    assert "gang-0" not in natives.sandbox.bound()
    client.delete("storage.k8s.io/v1", "StorageClass", name)


def test_a_nominated_node_is_tried_first_and_alone(natives: Natives) -> None:
    """Pods with a gate can be nominated. If the extender refuses that node, the next call has all nodes."""
    natives.sandbox.nodes(3, cpu="1")
    members = natives.gang("gang", 2, held=True)
    natives.nominate(members[0], "n2")
    natives.nominate(members[1], "n1")
    natives.offer = lambda pod, nodes: () if nodes == ("n1",) else ["n0"] if "n0" in nodes else nodes
    natives.open(*members)
    assert natives.wait_bound(*members) == {members[0]: "n2", members[1]: "n0"}
    calls = {pod: [call.nodes for call in natives.calls if call.pod == pod] for pod in members}
    assert calls[members[0]] == [("n2",)]
    nominated, full = calls[members[1]]
    assert (nominated, sorted(full)) == (("n1",), ["n0", "n1"])


def test_a_nomination_keeps_others_out_but_no_sibling(natives: Natives) -> None:
    """While the scheduler tries a group, its members are in no queue, where a nominated pod's requests would be found.

    The first member is nominated to a node without room. It takes the node that the second one is nominated to.
    """
    full, *_ = natives.sandbox.nodes(3, cpu="1")
    natives.sandbox.filler("in-the-way", full, 1, priority=HIGH)
    members = natives.gang("gang", 2, held=True)
    natives.nominate(members[0], "n0")
    natives.nominate(members[1], "n1")
    natives.sandbox.pod("other", priority=HIGH, nodeSelector={HOSTNAME: natives.full("n1")})
    assert "1 Insufficient cpu" in wait_for(lambda: natives.fits_nowhere("other"))
    natives.sandbox.delete_pod("other")

    natives.offer = lambda pod, nodes: ["n1"] if "n1" in nodes else nodes
    natives.open(*members)
    assert natives.wait_bound(*members) == {members[0]: "n1", members[1]: "n2"}
    assert [(call.pod, sorted(call.nodes)) for call in natives.calls] == [
        (members[0], ["n1", "n2"]),
        (members[1], ["n2"]),
    ]


@pytest.mark.parametrize("nominated", [False, True], ids=["without-a-nomination", "with-one"])
def test_a_member_whose_answer_is_lost_keeps_its_node_only_if_it_is_nominated(
    natives: Natives, nominated: bool
) -> None:
    """filter is ignorable. The offers are n0 and n1, and the second member would rather run on n2."""
    natives.sandbox.full_nodes(3)
    offers, lost = {"gang-0": "n0", "gang-1": "n1"}, ["gang-1"]

    def offer(pod: str, nodes: Sequence[str]) -> Sequence[str] | None:
        if pod in lost:
            lost.remove(pod)
            return None
        return [name for name in nodes if name == offers[pod]] if lost else nodes

    natives.offer = offer
    wanted = {"key": HOSTNAME, "operator": "In", "values": [natives.full("n2")]}
    rather = [{"weight": 100, "preference": {"matchExpressions": [wanted]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": rather}}
    members = natives.gang("gang", 2, held=True, affinity=affinity)
    for pod in members if nominated else ():
        natives.nominate(pod, offers[pod])
    natives.open(*members)
    bound = natives.wait_bound(*members)
    assert bound == ({**offers} if nominated else {**offers, "gang-1": "n2"})
    assert natives.sandbox.history.evicted() == [f"low-{node[1:]}-0" for node in sorted(bound.values())]
    first, second, *_ = natives.calls
    assert (first.pod, second.pod) == ("gang-0", "gang-1")
    assert second.nodes == ("n1",) if nominated else sorted(second.nodes) == ["n1", "n2"]


def test_while_pods_that_we_marked_go_from_nominated_nodes_the_scheduler_evicts_nobody(
    natives: Natives,
) -> None:
    """The filter is open: without the marks, there would be a simulated pass, and a call."""
    nodes = natives.sandbox.nodes(3, cpu="1")
    for number, node in enumerate(nodes):
        natives.sandbox.filler(f"low-{number}", node, 1, finalizers=[LINGERS])
    members = natives.gang("gang", 2, held=True)
    for pod, victim, node in zip(members, ("low-0-0", "low-1-0"), ("n0", "n1"), strict=True):
        natives.nominate(pod, node)
        natives.add_condition(victim, type="DisruptionTarget", reason="PreemptionByScheduler")
        natives.sandbox.delete_pod(victim)
    natives.open(*members)
    assert words(natives.said("gang")) == OF_TWO + ONGOING
    assert natives.calls == []
    for victim in ("low-0-0", "low-1-0"):
        natives.sandbox.release(victim)
    assert natives.wait_bound(*members) == {members[0]: "n0", members[1]: "n1"}
    assert natives.sandbox.history.evicted() == ["low-0-0", "low-1-0"]
    natives.sandbox.release("low-2-0")


def test_a_group_that_was_turned_down_comes_back_by_backoff_only(natives: Natives) -> None:
    """No condition, no pulse and no node brings it sooner. Its own condition is not written again while it is the same.

    If an attempt came before the scheduler had seen all of that, the machine is slow, and the next backoff is longer.
    """
    natives.sandbox.full_nodes(2)
    natives.offer = nobody
    members = natives.gang("gang", 2)
    natives.said("gang")
    version = natives.object("gang")["metadata"]["resourceVersion"]
    turned_down, seen = 2, 0
    while seen != turned_down:
        seen = turned_down
        natives.wait_calls(turned_down)
        disturb(natives, members, f"room-{turned_down}")
        turned_down = len(natives.calls)
    assert natives.object("gang")["metadata"]["resourceVersion"] == version
    natives.offer = everybody
    natives.wait_bound(*members)
    calls = natives.calls
    assert [number for number in range(1, turned_down + 1) if gap(calls, number) < backoff(number, 2)] == []
    assert natives.sandbox.history.evicted() == []


def disturb(natives: Natives, members: Sequence[str], room: str) -> None:
    """What would bring back an ordinary pod: a node with room for all members, conditions, and pulses.

    Returns when the scheduler has seen all of it, since an ordinary pod is bound there.
    """
    natives.sandbox.node(room, cpu="3")
    for pod in members:
        natives.add_condition(pod, type=f"example.com/{room}", reason="Wakes")
        natives.nominate(pod, room)
        natives.nominate(pod, "")
    natives.wait_awake(f"awake-{room}")


def test_the_end_of_its_own_victims_brings_a_group_no_sooner(natives: Natives) -> None:
    """It is turned down once, evicts, and finds the free room by its backoff."""
    natives.sandbox.full_nodes(2)
    turns = iter([nobody])
    natives.offer = lambda pod, nodes: next(turns, everybody)(pod, nodes)
    members = natives.gang("gang", 2)
    bound = natives.wait_bound(*members)
    assert natives.sandbox.history.evicted() == natives.sandbox.history.deleted() == ["low-0-0", "low-1-0"]
    calls = natives.calls
    assert {call.pod for call in calls[1:3]} == set(members)
    assert places(calls[3:]) == bound
    assert (gap(calls, 1) >= backoff(1, 2), gap(calls, 3) >= backoff(2, 2)) == (True, True)


@IN_MATRIX
def test_the_longest_backoff_grows_with_the_square_root_of_the_members(natives: Natives) -> None:
    natives.sandbox.full_nodes(4)
    natives.offer = nobody
    natives.gang("gang", 4)
    calls = natives.wait_calls(5)
    assert backoff(4, 4) > LONGEST_BACKOFF
    assert [number for number in range(1, 5) if gap(calls, number) < backoff(number, 4)] == []


def test_a_gate_on_one_member_keeps_its_group_from_being_tried(natives: Natives) -> None:
    """Also where minCount others have none. When the last gate has gone, all of them are tried and bound."""
    natives.sandbox.nodes(4, cpu="1")
    members = natives.gang("gang", 3, min_count=2, held=True)
    natives.open(*members[:2])
    natives.wait_awake("awake")
    assert natives.calls == []
    assert "conditions" not in natives.object("gang").get("status", {})
    natives.open(members[2])
    natives.wait_bound(*members)
    assert sorted(call.pod for call in natives.calls) == members


def test_a_group_whose_members_differ_is_never_tried(natives: Natives) -> None:
    natives.sandbox.nodes(9, cpu="1")
    never = natives.sandbox.priority(HIGH, policy="Never")
    others: dict[str, dict[str, Any]] = {
        "priority": {"priority": HIGH + 1},
        "policy": {"priority": None, "priority_class": never},
        "scheduler": {"schedulerName": OTHER_SCHEDULER},
    }
    for name, other in others.items():
        members = [natives.member(name, f"{name}-0"), natives.member(name, f"{name}-1", **other)]
        natives.group(name, 2)
        natives.open(*members)
    natives.group("class", 2, priority=None)
    natives.open(natives.member("class", "class-0"), natives.member("class", "class-1"))
    said = {name: natives.said(name) for name in (*others, "class")}
    assert {each["status"] for each in said.values()} == {"False"}
    assert {each["reason"] for each in said.values()} <= set(FAULTY)
    same = "all pods in a single pod group should have the same "
    numbers = re.compile(r"\d+|\"[a-z-]+\"|Never|PreemptLowerPriority")
    assert {name: numbers.sub("X", each["message"]) for name, each in said.items()} == {
        "priority": f"{same}priority as the pod group's priority, got X and X",
        "policy": f"{same}preemption policy, got X and X",
        "scheduler": f"{same}.spec.schedulerName set, got: X and X",
        "class": f"{same}priority as the pod group's priority, got X and X",
    }
    assert said["class"]["message"].endswith(f"got {HIGH} and 0")
    natives.wait_bound(*natives.gang("alike", 2))
    assert {call.pod for call in natives.calls} == {"alike-0", "alike-1"}


def test_members_beyond_the_minimum_come_back_at_once_and_preempt(natives: Natives) -> None:
    free = [natives.short(natives.sandbox.node(name, cpu="1")) for name in ("free-0", "free-1")]
    natives.sandbox.full_nodes(2)
    members = natives.gang("gang", 4, min_count=2)
    bound = natives.wait_bound(*members)
    assert natives.sandbox.history.evicted() == ["low-0-0", "low-1-0"]
    calls = natives.calls
    first, rest = [call.pod for call in calls[:2]], [call.pod for call in calls[2:4]]
    assert sorted([*first, *rest]) == members
    assert [len(call.nodes) for call in calls[:4]] == [2, 1, 2, 1]
    assert {bound[pod] for pod in first} == set(free)
    assert places(calls[4:]) == {pod: bound[pod] for pod in rest}


def test_the_api_server_fills_in_priority_and_disruption_mode(natives: Natives) -> None:
    spec = natives.group("gang", 2)["spec"]
    assert (spec["priority"], spec["disruptionMode"]) == (HIGH, {"single": {}})
    assert natives.group("without-a-class", 2, priority=None)["spec"]["priority"] == 0
