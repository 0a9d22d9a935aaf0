"""Delayed preemption on a real scheduler under `confirmation: Require`: nothing is evicted before it answers.

What a scheduler does that says nothing for a minute is in test_stress.py: there the minute costs no time.
"""

from __future__ import annotations

import pytest

from controllers.gangs.mirror.waiting import PULSE_NODE
from hack.controlplane.plane import ControlPlane
from tests.e2e.served import read_metrics
from tests.e2e.support import PlaneFactory, Sandbox, SandboxFactory, condition, wait_for


@pytest.fixture
def sandbox(planes: PlaneFactory, sandboxes: SandboxFactory) -> Sandbox:
    """On a plane of its own, whose scheduler the test may stop."""
    return sandboxes(
        planes(
            reprieve=True,
            reprieve_settings={"planning": {"confirmation": "Require", "confirmationSeconds": 1}},
        )
    )


def plane_of(sandbox: Sandbox) -> ControlPlane:
    assert sandbox.plane is not None
    return sandbox.plane


def wait_tried(sandbox: Sandbox, *pods: str) -> None:
    """Until the scheduler has written the result of an attempt on each."""
    wait_for(
        lambda: all(condition(sandbox.get_pod(name) or {}, "PodScheduled") for name in pods),
        what=sandbox.report,
    )


def test_an_attempt_before_the_last_sibling_existed_confirms(sandbox: Sandbox) -> None:
    """The scheduler is stopped when the last member comes, so nobody can be tried again. Victims go all the same."""
    plane = plane_of(sandbox)
    sandbox.full_nodes(2)
    sandbox.group("hero", min_count=3, priority=100)
    for name in ("hero-0", "hero-1"):
        sandbox.pod(name, group="hero", priority=100)
    wait_tried(sandbox, "hero-0", "hero-1")
    assert sandbox.plans() == []
    plane.processes["kube-scheduler"].pause()
    sandbox.pod("hero-2", group="hero", priority=100, node_name=sandbox.node("free", cpu="1"))
    sandbox.wait_gone("low-0-0", "low-1-0")
    metrics = read_metrics(plane)
    assert metrics["reprieve_gangs_asked_total"] == 0
    assert sum(value for name, value in metrics.items() if name.startswith("reprieve_pulses_total")) == 0
    assert metrics['reprieve_member_confirmations_total{by="scheduler"}'] == 2
    plane.processes["kube-scheduler"].resume()
    sandbox.wait_bound("hero-0", "hero-1", "hero-2")
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1}
    for name in ("hero-0", "hero-1"):
        assert PULSE_NODE not in sandbox.history.nominations(name)


def test_members_that_fit_only_when_the_first_one_runs_are_not_waited_for(sandbox: Sandbox) -> None:
    """Three followers have to be in the leader's rack. Before it runs, the scheduler refuses them everywhere."""
    racks: dict[str, str] = {}
    for rack in "ab":
        for number in range(2):
            racks[sandbox.node(f"{rack}{number}", cpu="2", labels={"rack": rack})] = rack
    for node in racks:
        sandbox.filler(f"low-{node.rpartition('-')[2]}", node, 2)
    leader = {"matchLabels": {"role": "leader"}}
    near = {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack", "labelSelector": leader}]
    }
    sandbox.group("hero", min_count=4, priority=100)
    sandbox.pod("leader", group="hero", priority=100, labels={"role": "leader"})
    followers = sandbox.pods("follower", 3, group="hero", priority=100, affinity={"podAffinity": near})
    bound = sandbox.wait_bound("leader", *followers)
    assert len({racks[bound[name]] for name in ("leader", *followers)}) == 1
    (plan,) = sandbox.plans("hero")
    assert {each["pod"]: each["wave"] for each in plan["spec"]["placements"]} == {
        "leader": 0,
        **dict.fromkeys(followers, 1),
    }
    confirmed = condition(plan, "Confirmed")
    assert confirmed is not None
    assert "3 of them in later waves" in confirmed["message"]
    assert len(sandbox.history.evictions()) == 4
