"""Gangs of kube-scheduler's own kind with `planning.nativeGroups: Steer`: the scheduler evicts where the plan says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from hack.controlplane.client import Client
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.versions import knows
from tests.e2e.other_kinds import NATIVE, create
from tests.e2e.support import Sandbox
from tests.kit.versions import THERE, needs

pytestmark = needs(NATIVE, "it has no groups that reprieve reads")

HIGH: Final = 1000


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """Its scheduler places Kubernetes' own PodGroups, and reprieve steers its preemption."""
    gates, served = ({"GenericWorkload": True}, {NATIVE: True}) if knows(THERE, NATIVE) else ({}, {})
    settings = {"planning": {"nativeGroups": "Steer"}}
    options = Options(reprieve=True, feature_gates=gates, runtime_config=served, reprieve_settings=settings)
    return start_plane(options)


@pytest.fixture
def sandbox(plane: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]) -> Iterator[Sandbox]:
    made = sandboxes(plane)
    yield made
    made.remove()


def test_kube_scheduler_evicts_the_victims_of_the_plan(sandbox: Sandbox) -> None:
    """Any three of five nodes would do."""
    sandbox.full_nodes(5)
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}, "priorityClassName": sandbox.priority(HIGH)}
    create(sandbox, NATIVE, "PodGroup", "gang", spec)
    pods = sandbox.pods("gang", 3, priority=HIGH, schedulingGroup={"podGroupName": "gang"})
    where = sandbox.wait_bound(*pods)
    plan = sandbox.wait_plan("podgroups.scheduling.k8s.io:gang", "Bound")
    assert {each["pod"]: each["node"] for each in plan["spec"]["placements"]} == {
        pod: where[pod] for pod in pods
    }
    assert (plan["spec"]["evictedBy"], plan["spec"]["evictorReason"]) == ("Scheduler", "SameVictims")
    victims = {pod["name"]: 1 for each in plan["spec"]["victims"] for pod in each["pods"]}
    assert (len(victims), sandbox.history.evictions()) == (3, victims)
    assert "unplanned" not in plan["status"]
    assert {"Planned", "Evicting", "Ready", "Bound"} == {
        each["type"] for each in plan["status"]["conditions"]
    }
