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
DRIVER = "csi.example.com"


class Storage:
    """Volumes and claims of a sandbox. Volumes and classes belong to no namespace, and go with `remove`."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox, self._made = sandbox, list[tuple[str, str, str]]()
        self.waiting = self.storage_class("local", "kubernetes.io/no-provisioner")
        """A StorageClass without provisioner, whose claims wait for their first consumer."""

    def storage_class(self, name: str, provisioner: str, **parts: Any) -> str:
        """A class whose claims wait for their first consumer; returns its name on the cluster."""
        full = f"{self._sandbox.namespace}-{name}"
        how = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer", **parts}
        self._create(STORAGE, "StorageClass", {"metadata": {"name": full}, **how})
        return full

    def slots(self, node: str, count: int) -> None:
        """The node attaches `count` volumes."""
        driver = {"name": DRIVER, "nodeID": node, "allocatable": {"count": count}}
        self._create(STORAGE, "CSINode", {"metadata": {"name": node}, "spec": {"drivers": [driver]}})

    def volume(
        self, name: str, *, node: str | None = None, labels: dict[str, str] | None = None, **spec: Any
    ) -> str:
        """A volume; returns its name on the cluster. `node`: only this one can use it."""
        full = f"{self._sandbox.namespace}-{name}"
        body: Json = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": DRIVER, "volumeHandle": full},
            "persistentVolumeReclaimPolicy": "Retain",
            **spec,
        }
        if node is not None:
            where = {"key": HOSTNAME, "operator": "In", "values": [node]}
            body["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}}
        meta: Json = {"name": full, "labels": labels or {}}
        self._create("v1", "PersistentVolume", {"metadata": meta, "spec": body})
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

    def provision(self, name: str) -> str:
        """Be the provisioner: make a volume for the claim where the scheduler wants it. Returns that node."""

        def selected() -> str | None:
            annotations: dict[str, str] = self._claim(name)["metadata"].get("annotations", {})
            return annotations.get("volume.kubernetes.io/selected-node")

        node = wait_for(selected, what=lambda: f"no node for claim {name}\n{self._sandbox.report()}")
        claim = self._claim(name)
        reference = {key: claim["metadata"][key] for key in ("namespace", "name", "uid")}
        self.volume(
            f"made-for-{name}",
            node=node,
            storageClassName=claim["spec"]["storageClassName"],
            claimRef={"apiVersion": "v1", "kind": "PersistentVolumeClaim", **reference},
        )
        return node

    def phase(self, name: str) -> str:
        """status.phase of the claim."""
        phase: str = self._claim(name)["status"]["phase"]
        return phase

    def remove(self) -> None:
        """Delete what belongs to no namespace."""
        for version, kind, name in self._made:
            self._sandbox.client.delete(version, kind, name)

    def _claim(self, name: str) -> Json:
        return self._sandbox.client.get("v1", "PersistentVolumeClaim", name, self._sandbox.namespace)

    def _create(self, version: str, kind: str, body: Json) -> None:
        self._sandbox.client.create({"apiVersion": version, "kind": kind, **body})
        self._made.append((version, kind, body["metadata"]["name"]))


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


def test_a_volume_is_made_where_a_member_goes(sandbox: Sandbox, storage: Storage) -> None:
    """One claim is bound in zone a. The other one comes late, and a volume is made for it in zone b."""
    zones = {zone: sandbox.node(zone, cpu="1", labels={ZONE: zone}) for zone in "abc"}
    for zone, node in zones.items():
        sandbox.filler(f"low-{zone}", node, 1)
    storage.bound_claim("bound", node=zones["a"])
    allowed = {"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}
    made = storage.storage_class("made", "provisioner.example.com", allowedTopologies=[allowed])
    sandbox.group("hero", min_count=2, priority=100)
    for claim in ("bound", "made"):
        sandbox.pod(claim, priority=100, group="hero", **mounts(claim))
    sandbox.wait_reason("PodGroup", "hero", "reprieve.dev/Scheduled", "Unschedulable")
    storage.claim("made", storageClassName=made)
    assert storage.provision("made") == zones["b"]
    bound = sandbox.wait_bound("bound", "made")
    assert (bound["bound"], bound["made"]) == (zones["a"], zones["b"])
    evicted(sandbox, "low-a-0", "low-b-0")
    assert storage.phase("made") == "Bound"


def test_the_pod_goes_that_has_the_slot_for_a_volume(sandbox: Sandbox, storage: Storage) -> None:
    """The node has room for the member beside both pods, but it attaches one volume only."""
    (node,) = sandbox.nodes(1, cpu="3")
    storage.slots(node, 1)
    for claim in ("theirs", "mine"):
        storage.bound_claim(claim, node=node)
    sandbox.filler("user", node, 1, **mounts("theirs"))
    sandbox.filler("other", node, 1)
    (member,) = sandbox.gang("hero", 1, priority=100, **mounts("mine"))
    assert sandbox.wait_bound(member)[member] == node
    evicted(sandbox, "user-0", named=["volumes that must be detached first"])
