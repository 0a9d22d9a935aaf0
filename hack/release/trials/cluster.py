"""Applies CRDs and manifests to a real API server, and installs the charts there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hack.controlplane.binaries import binaries
from hack.controlplane.components import Options
from hack.controlplane.manifests import wait_served
from hack.controlplane.objects import pod_group
from hack.controlplane.plane import ControlPlane
from hack.release import archives
from hack.release.charts import HELM
from hack.release.errors import ReleaseError
from hack.release.running import run

__all__ = ["NAMESPACE", "applied", "charts", "plane"]

NAMESPACE: Final = "reprieve-system"
CRD: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def plane(folder: Path) -> ControlPlane:
    """An API server that nothing of ours has been applied to. Nothing has started yet."""
    return ControlPlane(folder, Options(api_only=True, manifests=()))


def applied(crds: Path, manifests: Path, cluster: ControlPlane, scratch: Path) -> None:
    """Apply the file of CRDs and the unpacked kustomize folder. A PodGroup can be made then."""
    kubectl = (binaries(["kubectl"])["kubectl"], f"--kubeconfig={cluster.kubeconfig}")
    run(*kubectl, "apply", "--server-side", "-f", crds)
    wait_served(cluster.client, cluster.client.list(*CRD))
    cluster.client.create(pod_group("train", min_count=2))
    archives.write(archives.of_tar(manifests), scratch)
    (folder,) = scratch.glob("*/manifests")
    run(*kubectl, "apply", "--server-side", "-k", folder / "crds")
    run(*kubectl, "apply", "--server-side", "--force-conflicts", "-k", folder / "install")
    _deployed(cluster)


def charts(made: Sequence[Path], version: str, cluster: ControlPlane) -> None:
    """Install the charts by Helm, that of the CRDs first."""
    helm = (binaries([HELM])[HELM], f"--kubeconfig={cluster.kubeconfig}", f"--namespace={NAMESPACE}")
    for archive in sorted(made, key=lambda path: "-crds-" not in path.name):
        name = archive.name.removesuffix(f"-{version}.tgz")
        run(*helm, "install", name, archive, "--create-namespace")
    _deployed(cluster)


def _deployed(cluster: ControlPlane) -> None:
    if cluster.client.find("apps/v1", "Deployment", "reprieve", NAMESPACE) is None:
        raise ReleaseError(f"there is no Deployment reprieve in {NAMESPACE}")
