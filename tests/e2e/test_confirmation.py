"""Delayed preemption on a real scheduler under `confirmation: Require`: nobody goes without its word."""

from __future__ import annotations

import urllib.request
import pytest

from controllers.gangs.waiting import PULSE_NODE
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import REPRIEVE, PlaneFactory, Sandbox, SandboxFactory, condition, wait_for

QUIET_SECONDS = 15.0
"""With `confirmationSeconds: 1` several plans are made, asked for and given up in this time."""


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
    """Until the scheduler has written what came of an attempt on each."""
    wait_for(
        lambda: all(condition(sandbox.get_pod(name) or {}, "PodScheduled") for name in pods),
        what=sandbox.report,
    )


def wait_reason(sandbox: Sandbox, group: str, reason: str) -> None:
    """Until the group's condition has the reason."""

    def said() -> bool:
        found = condition(
            sandbox.client.get(REPRIEVE, "PodGroup", group, sandbox.namespace), "PodGroupInitiallyScheduled"
        )
        return found is not None and found["reason"] == reason

    wait_for(said, what=sandbox.report)


def test_while_the_scheduler_is_stopped_nobody_is_evicted(sandbox: Sandbox) -> None:
    """One gang was tried in part, the other one never. Both are bound once the scheduler goes on."""
    scheduler = plane_of(sandbox).processes["kube-scheduler"]
    sandbox.full_nodes(4)
    sandbox.group("tried", min_count=2, priority=100)
    sandbox.pod("tried-0", group="tried", priority=100)
    wait_tried(sandbox, "tried-0")
    scheduler.pause()
    sandbox.pod("tried-1", group="tried", priority=100)
    untried = sandbox.gang("untried", 2, priority=100)
    wait_reason(sandbox, "tried", "NotConfirmed")
    wait_reason(sandbox, "untried", "NotAttempted")
    sandbox.watch_quietly(QUIET_SECONDS, "tried-0", "tried-1", *untried)
    ended = {
        (plan["spec"]["preemptor"]["name"], entry["reason"])
        for plan in sandbox.plans()
        for entry in plan["status"]["conditions"]
        if entry["type"] == "Aborted"
    }
    assert ended == {("tried", "NotConfirmed"), ("untried", "NotAttempted")}
    scheduler.resume()
    sandbox.wait_bound("tried-0", "tried-1", *untried)
    assert sandbox.history.evictions() == {f"low-{number}-0": 1 for number in range(4)}


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


def read_metrics(plane: ControlPlane) -> dict[str, float]:
    """Values by name and labels."""
    with urllib.request.urlopen(f"{plane.ops_url}/metrics") as answer:  # noqa: S310  # our own URL
        lines = answer.read().decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}
