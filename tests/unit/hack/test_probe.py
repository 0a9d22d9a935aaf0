"""The probe knows what members do to the volumes of those who come after them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hack.controlplane.binaries import BinariesError
from hack.fidelity.probe import Probe
from hack.fidelity.world import Step, World

Json = dict[str, Any]
NODES = ("n0", "n1")


@pytest.fixture(scope="module")
def probe() -> Iterator[Probe]:
    try:
        found = Probe()
    except BinariesError as error:
        pytest.skip(str(error))
    with found:
        yield found


def _node(name: str) -> Json:
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "20"}
    labels = {"kubernetes.io/hostname": name}
    return {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": amounts}}


def _pod(name: str, claim: str, node: str = "") -> Json:
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {
            "containers": [{"name": "main", "image": "x"}],
            "nodeName": node,
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
        },
    }


def _volume(name: str, claim: str = "") -> Json:
    spec: Json = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "wait",
        "csi": {"driver": "csi.example.com", "volumeHandle": name},
    }
    if claim:
        spec["claimRef"] = {"namespace": "default", "name": claim, "uid": f"uid-{claim}"}
    return {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Bound" if claim else "Available"}}


def _claim(name: str, volume: str = "", mode: str = "ReadWriteOnce") -> Json:
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": bound}
    spec: Json = {
        "accessModes": [mode],
        "storageClassName": "wait",
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeName": volume,
    }
    return {"metadata": meta, "spec": spec, "status": {"phase": "Bound" if volume else "Pending"}}


def _world(claims: list[Json], volumes: list[Json], **objects: list[Json]) -> World:
    storage_class = {
        "metadata": {"name": "wait"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return World(
        family="volumes",
        nodes=[_node(name) for name in NODES],
        pods=[],
        members=[],
        objects={
            "storageClasses": [storage_class],
            "persistentVolumeClaims": claims,
            "persistentVolumes": volumes,
            **objects,
        },
        steps=[],
    )


def _refused(probe: Probe, world: World) -> list[dict[str, str]]:
    """For each member the plugins that refuse it, by node."""
    (answer,) = probe.ask([world.case])
    return [{node: refusal.plugin for node, refusal in each.items()} for each in answer]


def test_a_volume_is_taken_once(probe: Probe) -> None:
    world = _world([_claim("a"), _claim("b")], [_volume("free")])
    world.members = [_pod("first", "a"), _pod("second", "b")]
    world.steps = [Step([], "first", "n0"), Step([], "second")]
    for _ in range(2):  # the next case knows nothing of the one before
        assert _refused(probe, world) == [{}, dict.fromkeys(NODES, "VolumeBinding")]


def test_a_pod_that_does_not_fit_takes_no_volume(probe: Probe) -> None:
    world = _world([_claim("a"), _claim("b")], [_volume("free")])
    world.nodes[1]["spec"] = {"unschedulable": True}
    world.members = [_pod("first", "a"), _pod("second", "b")]
    world.steps = [Step([], "first", "n1"), Step([], "second")]
    assert _refused(probe, world) == [{"n1": "NodeUnschedulable"}] * 2


def test_a_victim_frees_its_claim(probe: Probe) -> None:
    world = _world([_claim("a", "taken", "ReadWriteOncePod")], [_volume("taken", "a")])
    world.pods = [_pod("user", "a", "n0")]
    world.members = [_pod("first", "a"), _pod("second", "a")]
    world.steps = [Step([], "first"), Step(["user"]), Step([], "first", "n1"), Step([], "second")]
    everywhere = dict.fromkeys(NODES, "VolumeRestrictions")
    assert _refused(probe, world) == [everywhere, {}, everywhere]


def test_attach_limits_follow(probe: Probe) -> None:
    drivers = [{"name": "csi.example.com", "nodeID": "x", "allocatable": {"count": 1}}]
    names = ("a", "b", "c")
    world = _world(
        [_claim(name, f"pv-{name}") for name in names],
        [_volume(f"pv-{name}", name) for name in names],
        csiNodes=[{"metadata": {"name": "n0"}, "spec": {"drivers": drivers}}],
    )
    world.pods = [_pod("user", "a", "n0")]
    world.members = [_pod("first", "b"), _pod("second", "c")]
    world.steps = [Step([], "first"), Step(["user"]), Step([], "first", "n0"), Step([], "second")]
    full = {"n0": "NodeVolumeLimits"}
    assert _refused(probe, world) == [full, {}, full]
