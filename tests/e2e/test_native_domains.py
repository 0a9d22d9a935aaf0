"""What kube-scheduler does with native gangs that have to run in one topology domain, an alpha feature of its own.

It decides by chance here. So each test has many gangs, each with two racks that no other gang can use.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.natives import Natives, Stub
from tests.e2e.support import SandboxFactory, wait_for
from tests.kit.versions import needs_set_up_with

pytestmark = needs_set_up_with("TopologyAwareWorkloadScheduling", matrix_only=True)

RACK: Final = "example.com/rack"
PAIR: Final = "example.com/pair"
GANGS: Final = 12
"""If each takes either rack by chance, all take the same one in 1 of 4,096 runs."""
ASLEEP_SECONDS: Final = 6.0
"""Longer than the backoff after the first attempt."""


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    with Stub.serving() as stub:
        yield stub


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane], stub: Stub) -> ControlPlane:
    return start_plane(stub.options)


@pytest.fixture
def natives(plane: ControlPlane, stub: Stub, sandboxes: SandboxFactory) -> Iterator[Natives]:
    sandbox = sandboxes(plane)
    made = stub.sandboxes[sandbox.namespace] = Natives(sandbox)
    yield made
    sandbox.remove()


def rack(natives: Natives, name: str, pair: int, **node: Any) -> str:
    """A rack of one node; returns the node's name on the cluster."""
    labels = {RACK: f"{natives.sandbox.namespace}-{name}-{pair}", PAIR: str(pair)}
    return natives.sandbox.node(f"{name}-{pair}", cpu="1", labels=labels, **node)


def gang(natives: Natives, pair: int) -> str:
    """A gang of one pod, in one rack of a pair; returns the pod's name."""
    natives.group(f"gang-{pair}", 1, topology=RACK)
    pod = natives.member(f"gang-{pair}", f"gang-{pair}-0", nodeSelector={PAIR: str(pair)})
    natives.open(pod)
    return pod


def test_the_rack_is_chosen_without_a_look_at_the_victims_priority(natives: Natives) -> None:
    """Pods of priority 50 are evicted although pods of priority 10 would have been enough."""
    for pair in range(GANGS):
        for priority in (10, 50):
            node = rack(natives, f"p{priority}", pair)
            natives.sandbox.filler(f"p{priority}-{pair}", node, 1, priority=priority)
    for pair in range(GANGS):
        gang(natives, pair)
    evicted = wait_for(lambda: all_evicted(natives), what=natives.sandbox.report)
    assert sorted(name.split("-")[1] for name in evicted) == sorted(map(str, range(GANGS)))
    assert {name.split("-")[0] for name in evicted} == {"p10", "p50"}


def all_evicted(natives: Natives) -> list[str] | None:
    """The victims, once each gang has evicted."""
    evicted = natives.sandbox.history.evicted()
    return evicted if len(evicted) >= GANGS else None


def test_a_gang_may_sleep_after_its_own_preemption_although_the_room_is_free(natives: Natives) -> None:
    """What the rack that was looked at first said decides what wakes it. A node that cannot be used came first."""
    for pair in range(GANGS):
        rack(natives, "cordoned", pair, unschedulable=True)
        natives.sandbox.filler(f"low-{pair}", rack(natives, "full", pair), 1)
    members = [gang(natives, pair) for pair in range(GANGS)]
    victims = wait_for(lambda: all_evicted(natives), what=natives.sandbox.report)
    natives.sandbox.wait_gone(*victims)
    natives.sandbox.node("other", cpu="1")
    time.sleep(ASLEEP_SECONDS)
    natives.wait_awake("awake", nodeSelector={"kubernetes.io/hostname": natives.full("other")})
    assert set(members) - natives.sandbox.bound().keys()
