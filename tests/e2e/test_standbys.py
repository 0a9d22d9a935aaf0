"""Two processes of reprieve: the scheduler calls either of them, and the leader is taken away while it evicts."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from api.published import SCHEDULERS
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.served import asked, asked_of_webhooks, differences, not_served
from tests.e2e.stream import Stream
from tests.e2e.support import PlaneFactory, Sandbox, SandboxFactory, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM
from tests.kit.stress.pieces import skipped

LEASES: Final = "coordination.k8s.io/v1"
VICTIMS: Final = 20
SOME: Final = 5
"""The number of evictions before the leader is taken away."""
QUIET_SECONDS: Final = 5.0
LEASE_SECONDS: Final = 3.0
"""What `manifests.SOON` says."""
KUEUES: Final = "kueue_"
"""Metrics with Kueue's names are there with quota.mode Enforce only."""
STAYS: Final = "example.com/stays"
"""A finalizer."""
SLOWLY: Final = {"REPRIEVE_FAILPOINTS": "evict.between=2s"}
"""Sixteen go at once. The last four wait for the first ones."""


@pytest.fixture(scope="module")
def pair(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A plane for two processes. None runs."""
    return start_plane(Options(reprieve=True, replicas=2, start_reprieve=False))


@pytest.fixture
def replicas(pair: ControlPlane, sandboxes: SandboxFactory) -> ControlPlane:
    """Two processes. The one that leads evicts slowly. The scheduler calls the other one."""
    leader, other = pair.layout.replicas
    for name, environment in ((leader, SLOWLY), (other, {})):
        pair.processes[name].environment = environment
        pair.start_reprieve(name, wait=False)
        wait_for(lambda: pair.leader() == leader, what="the first process does not lead")
    for name in (leader, other):
        pair.wait_reprieve(name)
    select(pair, other)
    return pair


@pytest.fixture
def sandboxes(pair: ControlPlane, sandboxes: SandboxFactory) -> Iterator[SandboxFactory]:
    """Afterwards no process runs, all networks work, and nothing is left in the cluster."""
    made: list[Sandbox] = []

    def make(plane: ControlPlane) -> Sandbox:
        made.append(sandboxes(plane))
        return made[-1]

    yield make
    for name in pair.layout.replicas:
        pair.networks[name].disturb("Pass")
        pair.processes[name].stop()
    for sandbox in made:
        sandbox.clear()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What is entered here ends with the test."""
    with ExitStack() as made:
        yield made


def standby(plane: ControlPlane) -> str:
    """The process that does not lead."""
    (name,) = {*plane.layout.replicas} - {plane.leader()}
    return name


def select(plane: ControlPlane, *names: str) -> None:
    """The Service selects these processes, and the scheduler connects anew."""
    plane.selected = names
    assert plane.service is not None
    plane.service.cut()


def metric(plane: ControlPlane, process: str, name: str) -> float:
    """The sum of a metric over its labels."""
    with urllib.request.urlopen(f"{plane.ops_url_of(process)}/metrics", timeout=5) as answer:  # noqa: S310  # loopback
        lines = answer.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def said_of_schedulers(plane: ControlPlane) -> str:
    """What the leader writes on its Lease about who calls."""
    lease = plane.client.get(LEASES, "Lease", "reprieve", "reprieve-system")
    said: str = lease["metadata"]["annotations"][SCHEDULERS]
    return said


def test_through_a_process_that_does_not_lead_the_leader_answers(
    replicas: ControlPlane, sandboxes: SandboxFactory
) -> None:
    sandbox = sandboxes(replicas)
    sandbox.full_nodes(2)
    members = sandbox.gang("hero", 2, priority=100)
    sandbox.wait_bound(*members)
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1}
    passed = metric(replicas, standby(replicas), 'reprieve_extender_passed_on_total{result="answered"')
    assert passed >= len(members)
    assert metric(replicas, replicas.leader(), "reprieve_extender_verb_seconds_count") >= passed
    wait_for(lambda: "default-scheduler" in said_of_schedulers(replicas), what="the Lease names no scheduler")
    check_metrics(replicas)
    leader, name = replicas.leader(), "reprieve_gangs_not_asked_about"
    assert metric(replicas, leader, name) == 0
    sandbox.gang("lost", 1, priority=200, schedulerName="nobody")
    wait_for(lambda: metric(replicas, leader, name) == 1, what="nobody is missed")


def check_metrics(plane: ControlPlane) -> None:
    """They are those that the code describes. Alerts and dashboard find theirs in the process that leads."""
    leader, other = plane.leader(), standby(plane)
    assert differences(plane.ops_url_of(leader)) == differences(plane.ops_url_of(other)) == []
    ours = [each for each in asked() if not asked_of_webhooks(each) and not each.name.startswith(KUEUES)]
    assert len(ours) > 20
    assert not_served(plane.ops_url_of(leader), ours) == []
    assert metric(plane, leader, "reprieve_leading") == 1
    assert metric(plane, other, "reprieve_leading") == 0
    assert metric(plane, leader, "reprieve_gangs{") == 1
    assert metric(plane, other, "reprieve_gangs{") == 0
    assert metric(plane, leader, "reprieve_extender_calls_total{") == 0  # the scheduler calls the other one
    assert metric(plane, other, "reprieve_extender_calls_total{") > 0


def test_a_lease_that_somebody_deletes_is_made_again(replicas: ControlPlane) -> None:
    """Its holder goes on."""
    leader = replicas.leader()
    replicas.client.delete(LEASES, "Lease", "reprieve", "reprieve-system")
    wait_for(
        lambda: replicas.client.find(LEASES, "Lease", "reprieve", "reprieve-system"), what="there is no Lease"
    )
    wait_for(lambda: replicas.leader() == leader, what="another process leads")


def killed(plane: ControlPlane, name: str) -> None:
    plane.processes[name].kill()


def stopped(plane: ControlPlane, name: str) -> None:
    plane.processes[name].pause()


def cut_off(plane: ControlPlane, name: str) -> None:
    """From the API server. The other process reaches it all the same."""
    plane.networks[name].disturb("BlackHole")


def asked_to_leave(plane: ControlPlane, name: str) -> None:
    os.kill(plane.processes[name].pid, signal.SIGTERM)


WAYS: Final[dict[str, Any]] = {
    "killed": killed,
    "stopped": pytest.param(stopped, marks=SELDOM),
    "cut_off": cut_off,
    "asked_to_leave": pytest.param(asked_to_leave, marks=SELDOM),
}
"""When replicas are replaced, a leader is asked to leave, too. One that is cut off lives on without its Lease, as one
that was stopped does."""


def offered(plane: ControlPlane, sandbox: Sandbox, pods: Sequence[str]) -> list[str]:
    """Without the pods for which the scheduler had no answer in time. The entry for filter is ignorable."""
    log = (plane.layout.logs / "kube-scheduler.log").read_text().splitlines()
    alone = skipped(log, datetime.now(UTC).year)
    return [pod for pod in pods if f"{sandbox.namespace}/{pod}" not in alone]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_leader_goes_in_the_middle_of_twenty_evictions(
    replicas: ControlPlane,
    sandboxes: SandboxFactory,
    stack: ExitStack,
    way: Callable[[ControlPlane, str], None],
) -> None:
    """Ordinary pods are scheduled all the time, and take no promised room."""
    plane, sandbox = replicas, sandboxes(replicas)
    nodes = sandbox.full_nodes(VICTIMS)
    stream = stack.enter_context(Stream(sandbox))
    members = sandbox.gang("hero", VICTIMS, priority=100)
    wait_for(lambda: len(sandbox.history.evicted()) >= SOME, what=sandbox.report)
    former, next_ = plane.leader(), standby(plane)
    began = time.monotonic()
    way(plane, former)
    wait_for(lambda: plane.leader() == next_, what="nobody else leads")
    leads = time.monotonic() - began
    before = len(sandbox.history.evicted())
    wait_for(
        lambda: len(sandbox.history.evicted()) > min(before, VICTIMS - 1), PATIENCE_SECONDS, sandbox.report
    )
    print(
        f"{way.__name__}: another leader after {leads:.1f} s, next eviction after {time.monotonic() - began:.1f} s"
    )
    sandbox.wait_bound(*members)
    end(plane, former, way)
    stream.wait_bound()
    assert offered(plane, sandbox, stream.on(nodes)) == []
    assert sandbox.history.evictions() == {f"low-{number}-0": 1 for number in range(VICTIMS)}
    assert gone_before_any_is_bound(sandbox, offered(plane, sandbox, members)) == VICTIMS
    assert len(sandbox.plans("hero")) == 1


def gone_before_any_is_bound(sandbox: Sandbox, members: list[str]) -> int:
    """How many pods were gone, ordinary ones aside, when the first member was bound."""
    gone = 0
    for kind, pod in sandbox.history.states:
        name = pod["metadata"]["name"]
        if name in members and pod["spec"].get("nodeName"):
            break
        gone += kind == "DELETED" and not name.startswith("ordinary-")
    return gone


def end(plane: ControlPlane, former: str, way: Callable[[ControlPlane, str], None]) -> None:
    """What was taken away comes back, and changes nothing."""
    if way is stopped:
        plane.processes[former].resume()
    elif way is cut_off:
        plane.networks[former].disturb("Pass")
        plane.networks[former].cut()
    else:
        plane.processes[former].stop()
        plane.start_reprieve(former, wait=False)
    plane.wait_reprieve(former)


def test_without_a_leader_ordinary_pods_are_scheduled_and_gangs_wait_for_the_next_one(
    replicas: ControlPlane, sandboxes: SandboxFactory
) -> None:
    """The Lease runs out while only the other process answers; what it turned down comes back."""
    plane, sandbox = replicas, sandboxes(replicas)
    sandbox.nodes(2, cpu="1")
    former = plane.leader()
    plane.processes[former].pause()
    sandbox.pod("ordinary", priority=10)
    members = sandbox.gang("hero", 1, priority=100)
    sandbox.wait_bound("ordinary", *members)
    assert sandbox.history.evicted() == []
    plane.processes[former].resume()
    plane.wait_reprieve(former)


def test_who_was_turned_down_without_a_leader_is_brought_back_by_the_next_one(
    planes: PlaneFactory, sandboxes: SandboxFactory
) -> None:
    """A victim belongs to a group, so only a leader may allow it. Nothing else brings back a pod that is parked."""
    slow_lease = {"leaseDurationSeconds": 10, "renewDeadlineSeconds": 7, "retryPeriodSeconds": 1}
    plane = planes(reprieve=True, replicas=2, reprieve_settings={"leaderElection": slow_lease})
    wait_for(plane.leader, what="nobody leads")
    former, next_ = plane.leader(), standby(plane)
    select(plane, next_)
    sandbox = sandboxes(plane)
    sandbox.group("low", min_count=1, priority=10)
    (node,) = sandbox.nodes(1, cpu="1")
    victims = sandbox.filler("low-0", node, 1, group="low")
    plane.processes[former].pause()
    sandbox.pod("urgent", priority=100)
    alone = 'reprieve_extender_verb_seconds_count{verb="preempt"}'
    wait_for(lambda: metric(plane, next_, alone), what="preempt is not called")
    assert plane.leader() == former
    assert sandbox.history.evicted() == []
    sandbox.wait_bound("urgent")
    assert plane.leader() == next_
    assert sandbox.history.evicted() == victims
    end(plane, former, stopped)


def test_a_scheduler_that_keeps_to_the_former_leader_gets_no_unsafe_answer(
    replicas: ControlPlane, sandboxes: SandboxFactory
) -> None:
    """The former leader cannot reach the API server, and does not know who leads. The scheduler calls nobody else."""
    plane, sandbox = replicas, sandboxes(replicas)
    former, next_ = plane.leader(), standby(plane)
    select(plane, former)
    cut_off(plane, former)
    wait_for(lambda: plane.leader() == next_, what="nobody else leads")
    sandbox.full_nodes(2)
    members = sandbox.gang("hero", 2, priority=100)
    sandbox.wait_plan("hero")
    until = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < until:
        assert not any(
            pod["spec"].get("nodeName") for pod in sandbox.list_pods() if pod["metadata"]["name"] in members
        )
        time.sleep(0.2)
    end(plane, former, cut_off)
    sandbox.wait_bound(*members)
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1}


def test_a_replica_that_is_cut_off_while_the_leader_goes_on_gives_no_promised_room_away(
    replicas: ControlPlane, sandboxes: SandboxFactory
) -> None:
    """It sees no plan, and does not see the Lease renewed either. So it passes calls on to whoever led last."""
    plane, sandbox = replicas, sandboxes(replicas)
    leader, cut = plane.leader(), standby(plane)
    nodes = sandbox.nodes(2, cpu="1")
    for number, node in enumerate(nodes):
        sandbox.filler(f"low-{number}", node, 1, finalizers=[STAYS] if number else [])
    cut_off(plane, cut)
    time.sleep(2 * LEASE_SECONDS)
    members = sandbox.gang("hero", 2, priority=100)
    sandbox.wait_plan("hero", "Evicting")
    sandbox.wait_gone("low-0-0")
    sandbox.pod("ordinary", priority=10)
    sandbox.pod("urgent", priority=50)
    for name in ("ordinary", "urgent"):
        sandbox.wait_condition("Pod", name, "PodScheduled", "False")
    time.sleep(QUIET_SECONDS)
    assert not {"ordinary", "urgent", *members} & sandbox.bound().keys(), sandbox.report()
    assert plane.leader() == leader
    sandbox.release("low-1-0")
    bound = sandbox.wait_bound(*members)
    assert not {"ordinary", "urgent"} & bound.keys()
    end(plane, cut, cut_off)


def test_a_roll_out_loses_no_room(
    replicas: ControlPlane, sandboxes: SandboxFactory, stack: ExitStack
) -> None:
    """Each process is replaced in turn while a gang evicts and ordinary pods arrive."""
    plane, sandbox = replicas, sandboxes(replicas)
    select(plane, *plane.layout.replicas)
    plane.selected = None
    nodes = sandbox.full_nodes(6)
    stream = stack.enter_context(Stream(sandbox))
    members = sandbox.gang("hero", 6, priority=100)
    sandbox.wait_plan("hero", "Evicting")
    for name in plane.layout.replicas:
        plane.processes[name].stop()
        plane.start_reprieve(name)
    bound = sandbox.wait_bound(*members)
    assert {bound[name] for name in members} == set(nodes)
    assert sandbox.history.evictions() == {f"low-{number}-0": 1 for number in range(6)}
    stream.wait_bound()
    assert offered(plane, sandbox, stream.on(nodes)) == []
    assert gone_before_any_is_bound(sandbox, offered(plane, sandbox, members)) == len(members)
