"""What describes storage in the cluster of `bench.mirror`, as JSON: one pod in five has a claim with a volume."""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ["DRIVER", "claim", "claim_name", "csi_node", "storage_class", "volume"]

DRIVER: Final = "disks.example.com"
MODES: Final = ["ReadWriteOnce"]


def claim_name(index: int) -> str:
    """The name of the claim in this row."""
    return f"data-{index:06}"


def claim(index: int, version: int, namespace: str) -> bytes:
    """A bound PersistentVolumeClaim."""
    spec = {
        "accessModes": MODES,
        "resources": {"requests": {"storage": "100Gi"}},
        "volumeName": f"pv-{index:06}",
        "storageClassName": f"class-{index % 10}",
        "volumeMode": "Filesystem",
    }
    bound = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    meta = _meta(claim_name(index), version) | {"namespace": namespace, "annotations": bound}
    return msgspec.json.encode({"metadata": meta, "spec": spec, "status": {"phase": "Bound"}})


def volume(index: int, version: int, namespace: str) -> bytes:
    """The PersistentVolume of the claim."""
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [f"zone-{index % 3}"]}
    spec = {
        "capacity": {"storage": "100Gi"},
        "accessModes": MODES,
        "claimRef": {"namespace": namespace, "name": claim_name(index), "uid": f"{claim_name(index)}-uid"},
        "storageClassName": f"class-{index % 10}",
        "volumeMode": "Filesystem",
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}},
        "csi": {"driver": DRIVER, "volumeHandle": f"vol-{index:012x}"},
    }
    meta = _meta(f"pv-{index:06}", version)
    return msgspec.json.encode({"metadata": meta, "spec": spec, "status": {"phase": "Bound"}})


def csi_node(name: str, version: int) -> bytes:
    """The CSINode of a node."""
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": 127}}
    return msgspec.json.encode({"metadata": _meta(name, version), "spec": {"drivers": [driver]}})


def storage_class(index: int, version: int) -> bytes:
    """A StorageClass that waits for the first consumer."""
    meta = _meta(f"class-{index}", version)
    return msgspec.json.encode(
        {"metadata": meta, "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}
    )


def _meta(name: str, version: int) -> dict[str, Any]:
    return {"name": name, "uid": f"{name}-uid", "resourceVersion": str(version)}
