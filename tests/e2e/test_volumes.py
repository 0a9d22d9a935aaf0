"""Gangs whose members mount claims, on a real control plane: each evicts the right pods, and binds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hack.controlplane.client import Json
from tests.e2e.evicted import evicted
from tests.e2e.support import Sandbox, wait_for

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
STORAGE = "storage.k8s.io/v1"


class Storage:
    """Volumes and claims of a sandbox. Volumes and classes belong to no namespace, and go with `remove`."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox, self._volumes = sandbox, list[str]()
        self.waiting = f"{sandbox.namespace}-local"
        """A StorageClass without provisioner, whose claims wait for their first consumer."""
        sandbox.client.create(
            {
                "apiVersion": STORAGE,
                "kind": "StorageClass",
                "metadata": {"name": self.waiting},
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": "WaitForFirstConsumer",
            }
        )

    def volume(
        self, name: str, *, node: str | None = None, labels: dict[str, str] | None = None, **spec: Any
    ) -> str:
        """A volume; returns its name on the cluster. `node`: only this one can use it."""
        full = f"{self._sandbox.namespace}-{name}"
        body: Json = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "csi.example.com", "volumeHandle": full},
            "persistentVolumeReclaimPolicy": "Retain",
            **spec,
        }
        if node is not None:
            where = {"key": HOSTNAME, "operator": "In", "values": [node]}
            body["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}}
        meta: Json = {"name": full, "labels": labels or {}}
        self._sandbox.client.create(
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": body}
        )
        self._volumes.append(full)
        return full

    def claim(self, name: str, *, mode: str = "ReadWriteOnce", **spec: Any) -> None:
        """A claim."""
        body = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}, **spec}
        meta = {"name": name, "namespace": self._sandbox.namespace}
        self._sandbox.client.create(
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": body}
        )

    def bound_claim(self, name: str, *, mode: str = "ReadWriteOnce", **volume_parts: Any) -> None:
        """A claim with a volume of its own (see `volume`), bound by the real controller."""
        volume = self.volume(f"pv-{name}", accessModes=[mode], **volume_parts)
        self.claim(name, mode=mode, volumeName=volume, storageClassName="")
        wait_for(lambda: self.phase(name) == "Bound", what=f"claim {name} is not bound")

    def phase(self, name: str) -> str:
        """status.phase of the claim."""
        found = self._sandbox.client.find("v1", "PersistentVolumeClaim", name, self._sandbox.namespace)
        assert found is not None
        phase: str = found["status"]["phase"]
        return phase

    def remove(self) -> None:
        """Delete what belongs to no namespace."""
        for name in self._volumes:
            self._sandbox.client.delete("v1", "PersistentVolume", name)
        self._sandbox.client.delete(STORAGE, "StorageClass", self.waiting)


@pytest.fixture
def storage(sandbox: Sandbox) -> Iterator[Storage]:
    found = Storage(sandbox)
    yield found
    found.remove()


def mounts(claim: str) -> dict[str, Any]:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def test_members_go_where_their_volumes_are(sandbox: Sandbox, storage: Storage) -> None:
    """One claim is bound to a volume of the second node, the other one gets the free volume of the third."""
    nodes = sandbox.nodes(3, cpu="1")
    for number, node in enumerate(nodes):
        sandbox.filler(f"low{number}", node, 1)
    storage.bound_claim("bound", node=nodes[1])
    storage.volume("free", node=nodes[2], storageClassName=storage.waiting)
    storage.claim("unbound", storageClassName=storage.waiting)
    sandbox.group("hero", min_count=2, priority=100)
    for claim in ("bound", "unbound"):
        sandbox.pod(claim, priority=100, group="hero", **mounts(claim))
    bound = sandbox.wait_bound("bound", "unbound")
    assert (bound["bound"], bound["unbound"]) == (nodes[1], nodes[2])
    evicted(sandbox, "low1-0", "low2-0")
    assert storage.phase("unbound") == "Bound"


def test_members_go_to_the_zone_of_their_volumes(sandbox: Sandbox, storage: Storage) -> None:
    """One volume names its zone in its node affinity, the other one in a label."""
    zones = {zone: sandbox.node(zone, cpu="1", labels={ZONE: zone}) for zone in "abc"}
    for zone, node in zones.items():
        sandbox.filler(f"low-{zone}", node, 1)
    where = {"key": ZONE, "operator": "In", "values": ["b"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}}
    storage.bound_claim("by-affinity", nodeAffinity=affinity)
    storage.bound_claim("by-label", labels={ZONE: "c"})
    sandbox.group("hero", min_count=2, priority=100)
    for claim in ("by-affinity", "by-label"):
        sandbox.pod(claim, priority=100, group="hero", **mounts(claim))
    bound = sandbox.wait_bound("by-affinity", "by-label")
    assert (bound["by-affinity"], bound["by-label"]) == (zones["b"], zones["c"])
    evicted(sandbox, "low-b-0", "low-c-0")


def test_the_pod_goes_that_uses_the_claim_of_a_member(sandbox: Sandbox, storage: Storage) -> None:
    """ReadWriteOncePod: there is free room on the other node, where another pod stays."""
    first, second = sandbox.nodes(2, cpu="2")
    storage.bound_claim("data", mode="ReadWriteOncePod")
    sandbox.filler("user", first, 1, **mounts("data"))
    sandbox.filler("other", second, 1)
    (member,) = sandbox.gang("hero", 1, priority=100, **mounts("data"))
    assert sandbox.wait_bound(member)[member] in (first, second)
    evicted(sandbox, "user-0")
