"""A single pod as preemptor on a real scheduler: it takes a group that goes whole, by a plan of its own."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import ReprieveFactory, Sandbox, condition, names, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM

CRITICAL = "system-node-critical"
PLACES = {
    "before": ["plan.confirmed", "evict.between"],
    "after": ["plan.ready"],
    "all before": pytest.param(
        ["plan.committed", "plan.confirmed", "plan.evicting", "evict.begun", "evict.between"], marks=SELDOM
    ),
}
"""Once somebody has gone, the scheduler may bind the pod while no process runs. Then its plan is not Ready any more."""


def unit(sandbox: Sandbox, nodes: Iterable[str], name: str = "low", *, priority: int = 10) -> list[str]:
    """A group that goes whole, with a pod on each of these nodes. Returns the pods' names."""
    nodes = list(nodes)
    sandbox.group(name, min_count=len(nodes), mode="all", priority=priority)
    return [
        pod
        for number, node in enumerate(nodes)
        for pod in sandbox.filler(f"{name}-{number}", node, 1, group=name, priority=priority)
    ]


def on_node(name: str) -> Json:
    """The affinity that the DaemonSet controller gives a pod for its node."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def evicted_by_plan(sandbox: Sandbox, preemptor: str, pods: Iterable[str]) -> None:
    """One plan of kind Pod was carried out to its end, and these pods went by it."""
    plan = sandbox.wait_plan(preemptor, "Bound")
    assert plan["spec"]["preemptor"]["kind"] == "Pod"
    assert names(sandbox.plans(preemptor)) == [plan["metadata"]["name"]]
    assert condition(plan, "Evicting") is not None
    assert sandbox.history.evictions() == dict.fromkeys(pods, 1)


def test_a_single_pod_takes_a_group_on_three_nodes_whole(sandbox: Sandbox) -> None:
    pods = unit(sandbox, sandbox.nodes(3, cpu="1"))
    sandbox.pod("hero", priority=100)
    sandbox.wait_bound("hero")
    sandbox.wait_gone(*pods)
    evicted_by_plan(sandbox, "hero", pods)


def test_a_system_critical_pod_of_a_daemon_set_takes_it_on_its_node(sandbox: Sandbox) -> None:
    nodes = sandbox.nodes(3, cpu="1")
    pods = unit(sandbox, nodes)
    body = sandbox.pod_body("agent", priority_class=CRITICAL, affinity=on_node(nodes[1]))
    sandbox.client.create(body)
    assert sandbox.wait_bound("agent") == {"agent": nodes[1]}
    sandbox.wait_gone(*pods)
    evicted_by_plan(sandbox, "agent", pods)


@pytest.mark.parametrize(("group", "single", "gone"), [(10, 50, "low-0-0"), (50, 10, "other-0")])
def test_the_cheaper_one_is_evicted(sandbox: Sandbox, group: int, single: int, gone: str) -> None:
    """A group that goes whole on one node, and a single pod on another one."""
    first, second = sandbox.nodes(2, cpu="1")
    unit(sandbox, [first], priority=group)
    sandbox.filler("other", second, 1, priority=single)
    sandbox.pod("hero", priority=100)
    sandbox.wait_bound("hero")
    evicted_by_plan(sandbox, "hero", [gone])


def test_without_a_plan_the_scheduler_breaks_no_group(sandbox: Sandbox) -> None:
    """Every plan rests on a filter that is not modelled. The scheduler gets what is left after striking."""
    claimed = sandbox.claim()
    first, second = sandbox.nodes(2, cpu="1")
    unit(sandbox, [first])
    sandbox.filler("high", second, 1, priority=200)
    sandbox.pod("hero", priority=100, **claimed)
    wait_for(lambda: sandbox.events("PreemptionRefused", "hero"), what=sandbox.report)
    assert sandbox.history.evictions() == {}
    sandbox.delete_pod("hero")
    sandbox.wait_gone("hero")
    sandbox.filler("single", sandbox.node("n2", cpu="1"), 1)
    sandbox.pod("another", priority=100, **claimed)
    sandbox.wait_bound("another")
    assert sandbox.history.evictions() == {"single-0": 1}
    assert {plan["status"]["phase"] for plan in sandbox.plans()} == {"Blocked"}


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_killed_at_every_place_the_next_process_goes_on(
    reprieve_with: ReprieveFactory, places: list[str]
) -> None:
    """One pod and its plan, and a process for each place."""
    plane, sandbox = reprieve_with(f"{places[0]}=kill")
    pods = unit(sandbox, sandbox.nodes(3, cpu="1"))
    sandbox.pod("hero", priority=100)
    written = killed(plane, sandbox)
    for place in places[1:]:
        plane.reprieve.environment = {"REPRIEVE_FAILPOINTS": f"{place}=kill"}
        plane.start_reprieve(wait=False)
        assert killed(plane, sandbox) == written, place
    plane.reprieve.environment = {}
    plane.start_reprieve()
    sandbox.wait_bound("hero")
    sandbox.wait_gone(*pods)
    evicted_by_plan(sandbox, "hero", pods)
    assert names(sandbox.plans("hero")) == [written]


def killed(plane: ControlPlane, sandbox: Sandbox) -> str:
    """Once a failpoint has killed the process: the plan was written first. Returns its name."""
    plane.reprieve.wait(PATIENCE_SECONDS)
    (plan,) = sandbox.plans("hero")
    name: str = plan["metadata"]["name"]
    return name
