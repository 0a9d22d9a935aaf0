"""What kube-scheduler does with native gangs that have to run in one topology domain, an alpha feature of its own.

It decides by chance here. So each test has many gangs, each with two racks that no other gang can use.
"""

from __future__ import annotations

import time
from typing import Any, Final

from tests.e2e.natives import Natives
from tests.e2e.support import wait_for
from tests.kit.versions import needs_set_up_with

pytestmark = needs_set_up_with("TopologyAwareWorkloadScheduling", matrix_only=True)

RACK: Final = "example.com/rack"
PAIR: Final = "example.com/pair"
ASLEEP_SECONDS: Final = 6.0
"""Longer than the backoff after the first attempt."""


def racks(natives: Natives, name: str, pairs: int, **node: Any) -> list[str]:
    """In each pair, a rack of one node; returns the nodes' names on the cluster."""
    made = []
    for pair in range(pairs):
        labels = {RACK: f"{natives.sandbox.namespace}-{name}-{pair}", PAIR: str(pair)}
        made.append(natives.sandbox.node(f"{name}-{pair}", cpu="1", labels=labels, wait=False, **node))
    natives.sandbox.wait_nodes(*made)
    return made


def fill(natives: Natives, nodes: list[str], priority: int) -> None:
    """On each node a pod, with the node's name without the prefix."""
    pods = [
        natives.sandbox.pod(natives.short(node), priority=priority, node_name=node, cpu="1") for node in nodes
    ]
    natives.sandbox.wait_running(*pods)


def preempting(natives: Natives, pairs: int) -> tuple[list[str], list[str]]:
    """In each pair a gang of one pod comes. Returns the names of these pods, and of their victims, one in each pair."""
    members = []
    for pair in range(pairs):
        natives.group(f"gang-{pair}", 1, topology=RACK)
        members.append(natives.member(f"gang-{pair}", f"gang-{pair}-0", nodeSelector={PAIR: str(pair)}))
    natives.open(*members)
    wait_for(lambda: len(natives.sandbox.history.evicted()) >= pairs, what=natives.sandbox.report)
    victims = natives.sandbox.history.evicted()
    assert sorted(name.split("-")[1] for name in victims) == sorted(map(str, range(pairs)))
    return members, victims


def test_the_rack_is_chosen_without_a_look_at_the_victims_priority(natives: Natives) -> None:
    """Pods of priority 50 are evicted although pods of priority 10 would have been enough.

    If each gang takes either rack, all of them take that of priority 10 in 1 of 4,096 runs.
    """
    for priority in (10, 50):
        fill(natives, racks(natives, f"p{priority}", 12), priority)
    _, victims = preempting(natives, 12)
    assert "p50" in {name.split("-")[0] for name in victims}


def test_a_gang_may_sleep_after_its_own_preemption_although_the_room_is_free(natives: Natives) -> None:
    """What the rack that was looked at first said decides what wakes it: seven of eight racks cannot be used at all.

    So the right one comes first for all four gangs in 1 of 4,096 runs.
    """
    other = natives.sandbox.node("other", cpu="1")  # a new node would wake some of them
    racks(natives, "cordoned", 4, unschedulable=True)
    fill(natives, racks(natives, "full", 4), 10)
    members, victims = preempting(natives, 4)
    natives.sandbox.wait_gone(*victims)
    time.sleep(ASLEEP_SECONDS)
    natives.wait_awake("awake", nodeSelector={"kubernetes.io/hostname": other})
    assert set(members) - natives.sandbox.bound().keys()
