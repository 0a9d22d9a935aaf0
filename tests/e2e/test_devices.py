"""Gangs whose pods use devices, with the scheduler's own DynamicResources: they are no worse off than without us."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from hack.controlplane.client import Json
from tests.e2e.support import REPRIEVE, Sandbox, condition, names, wait_for

VERSION: Final = "resource.k8s.io/v1"
NAMED: Final = "devices are not modelled"


@dataclass
class Devices:
    """A driver of this sandbox: its DeviceClass, its devices, and a template for claims of one device."""

    sandbox: Sandbox
    made: list[tuple[str, str]] = field(default_factory=list)
    """Kind and name of what is not in the namespace."""

    @property
    def driver(self) -> str:
        return f"{self.sandbox.namespace}.reprieve.test"

    @property
    def resource(self) -> str:
        """The extended resource that the DeviceClass backs."""
        return f"{self.driver}/gpu"

    @property
    def template(self) -> dict[str, Any]:
        """What a pod's spec has to say to get a claim of its own."""
        return {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}

    def create(self) -> None:
        """The class and the template."""
        selector = {"cel": {"expression": f"device.driver == '{self.driver}'"}}
        spec = {"selectors": [selector], "extendedResourceName": self.resource}
        self._cluster_scoped("DeviceClass", self.sandbox.namespace, spec)
        request = {"name": "one", "exactly": {"deviceClassName": self.sandbox.namespace}}
        template = {
            "apiVersion": VERSION,
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "gpu", "namespace": self.sandbox.namespace},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        }
        self.sandbox.client.create(template)

    def on(self, *nodes: str) -> None:
        """Each of these nodes has one device."""
        for node in nodes:
            pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
            spec = {"driver": self.driver, "pool": pool, "nodeName": node, "devices": [{"name": "gpu-0"}]}
            self._cluster_scoped("ResourceSlice", node, spec)

    def remove(self) -> None:
        """Of what is not in the namespace."""
        for kind, name in self.made:
            self.sandbox.client.delete(VERSION, kind, name)

    def _cluster_scoped(self, kind: str, name: str, spec: Json) -> None:
        body = {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.sandbox.client.create(body)
        self.made.append((kind, name))


@pytest.fixture
def devices(sandbox: Sandbox) -> Iterator[Devices]:
    made = Devices(sandbox)
    made.create()
    yield made
    made.remove()


def bound_where_the_scheduler_chose(sandbox: Sandbox, pods: Collection[str]) -> dict[str, str]:
    """All are bound by the first plan. Nobody was evicted. Returns their nodes.

    A nomination was only the scheduler's own: it nominates a pod to the node that it has just chosen.
    """
    bound = sandbox.wait_bound(*pods)
    plan = sandbox.wait_plan("hero", "Bound")
    assert names(sandbox.plans("hero")) == [plan["metadata"]["name"]], "the gang wandered"
    assert {each["pod"] for each in plan["spec"]["placements"] if each.get("anyNode")} == set(pods)
    for pod in pods:
        assert {node for node in sandbox.history.nominations(pod) if node} <= {bound[pod]}
    assert sandbox.history.evictions() == {}
    return {pod: bound[pod] for pod in pods}


def said(sandbox: Sandbox) -> str:
    """What the PodGroup waits for."""
    group = sandbox.client.get(REPRIEVE, "PodGroup", "hero", sandbox.namespace)
    waits = condition(group, "reprieve.dev/Scheduled") or {}
    return f"{waits.get('reason')}: {waits.get('message')}"


def test_a_gang_with_claims_finds_the_nodes_that_have_devices(sandbox: Sandbox, devices: Devices) -> None:
    """The planner would choose the first nodes, which have none."""
    nodes = sandbox.nodes(4, cpu="1")
    devices.on(*nodes[2:])
    members = sandbox.gang("hero", 2, priority=100, **devices.template)
    bound = bound_where_the_scheduler_chose(sandbox, members)
    assert sorted(bound.values()) == nodes[2:]


def test_it_waits_for_devices_and_evicts_nobody(sandbox: Sandbox, devices: Devices) -> None:
    """It is ready, and the scheduler takes it as soon as there are devices."""
    nodes = sandbox.nodes(3, cpu="1")
    sandbox.filler("low", nodes[0], 1, cpu="100m")
    members = sandbox.gang("hero", 2, priority=100, cpu="500m", **devices.template)
    sandbox.wait_plan("hero", "Ready")
    wait_for(lambda: NAMED in said(sandbox), what=lambda: said(sandbox))
    assert said(sandbox).startswith("Ready: ")
    assert "the scheduler chooses the nodes of 2 members, and nothing is evicted for them" in said(sandbox)
    sandbox.watch_quietly(3, *members)
    devices.on(*nodes[1:])
    bound = bound_where_the_scheduler_chose(sandbox, members)
    assert sorted(bound.values()) == nodes[1:]


def test_nobody_is_evicted_where_devices_may_not_be(sandbox: Sandbox, devices: Devices) -> None:
    nodes = sandbox.full_nodes(2)
    devices.on(*nodes)
    members = sandbox.gang("hero", 2, priority=100, **devices.template)
    sandbox.wait_plan("hero", "Blocked")
    sandbox.watch_quietly(3, *members)
    for low in ("low-0-0", "low-1-0"):
        sandbox.delete_pod(low)
    bound = sandbox.wait_bound(*members)
    assert sorted(bound.values()) == nodes
    assert sandbox.history.evictions() == {}


def test_its_leader_keeps_the_room_that_is_planned(sandbox: Sandbox, devices: Devices) -> None:
    """The leader has no claim. It needs the only large node, which workers may not take."""
    small = [sandbox.node(f"n{number}", cpu="1") for number in range(2)]
    large = sandbox.node("large", cpu="2")
    devices.on(*small, large)
    sandbox.group("hero", min_count=3, priority=100)
    workers = [sandbox.pod(f"w{each}", priority=100, group="hero", **devices.template) for each in range(2)]
    sandbox.pod("leader", priority=100, group="hero", cpu="2")
    bound = sandbox.wait_bound("leader", *workers)
    assert bound["leader"] == large
    assert sorted(bound[worker] for worker in workers) == small
    assert sandbox.history.evictions() == {}


def test_in_racks_the_first_member_finds_the_one_with_devices(sandbox: Sandbox, devices: Devices) -> None:
    racks = {
        rack: [sandbox.node(f"{rack}{number}", cpu="1", labels={"rack": rack}) for number in range(2)]
        for rack in "ab"
    }
    devices.on(*racks["b"])
    members = sandbox.gang("hero", 2, priority=100, topology="rack", **devices.template)
    bound = bound_where_the_scheduler_chose(sandbox, members)
    assert sorted(bound.values()) == racks["b"]


def test_in_racks_a_leader_without_claims_follows_its_worker(sandbox: Sandbox, devices: Devices) -> None:
    racks = {
        rack: [sandbox.node(f"{rack}{number}", cpu="1", labels={"rack": rack}) for number in range(2)]
        for rack in "ab"
    }
    devices.on(*racks["b"])
    sandbox.group("hero", min_count=2, priority=100, topology="rack")
    sandbox.pod("leader", priority=100, group="hero")
    sandbox.pod("worker", priority=100, group="hero", **devices.template)
    bound = bound_where_the_scheduler_chose(sandbox, ["leader", "worker"])
    assert sorted(bound.values()) == racks["b"]


def test_an_extended_resource_of_a_device_class_is_found(sandbox: Sandbox, devices: Devices) -> None:
    """KEP-5004: no node counts the resource in its allocatable."""
    nodes = sandbox.nodes(4, cpu="1")
    devices.on(*nodes[2:])
    sandbox.group("hero", min_count=2, priority=100)
    members = [f"hero-{number}" for number in range(2)]
    for member in members:
        body = sandbox.pod_body(member, priority=100, group="hero", requests={devices.resource: "1"})
        body["spec"]["containers"][0]["resources"]["limits"] = {devices.resource: "1"}
        sandbox.client.create(body)
    bound = bound_where_the_scheduler_chose(sandbox, members)
    assert sorted(bound.values()) == nodes[2:]
    plan = sandbox.wait_plan("hero", "Bound")
    assert plan["spec"]["notModelled"] == [f"{devices.resource} (DRA extended resource)"]
