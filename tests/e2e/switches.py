"""Two replicas of different modes on one plane, and what may be left when one of them follows the other."""

from __future__ import annotations

from contextlib import closing
from typing import Any, Final

import yaml

from api.published import HOLDS, PLANNING_MODE
from hack.controlplane.client import Client, Json
from hack.controlplane.manifests import MANIFESTS
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import Sandbox, condition, may, wait_for

__all__ = [
    "ENFORCES",
    "OBSERVES",
    "configure",
    "grant",
    "is_open",
    "is_ours",
    "lease",
    "of_enforce",
    "revoke",
    "traces",
    "wait_mode",
    "wait_nothing_held",
]

ENFORCES: Final = "reprieve"
OBSERVES: Final = "reprieve-2"


def configure(plane: ControlPlane, name: str, **planning: Any) -> None:
    """The process of this name has these settings of `planning` when it starts next."""
    file = plane.directory / f"{name}.yaml"
    settings = yaml.safe_load(file.read_text())
    settings["planning"] = {**settings.get("planning", {}), **planning}
    file.write_text(yaml.safe_dump(settings))


def lease(plane: ControlPlane) -> dict[str, str]:
    """What the leader says of itself."""
    found = plane.client.get("coordination.k8s.io/v1", "Lease", "reprieve", "reprieve-system")
    notes: dict[str, str] = (found or {})["metadata"]["annotations"]
    return notes


def wait_mode(plane: ControlPlane, mode: str) -> None:
    """Until the leader has this mode."""
    wait_for(lambda: lease(plane)[PLANNING_MODE] == mode, what=lambda: f"{lease(plane)}")


def wait_nothing_held(plane: ControlPlane) -> None:
    """Until the leader says that nothing is held."""
    wait_for(lambda: lease(plane)[HOLDS] == "", what=lambda: lease(plane)[HOLDS])


def traces(sandbox: Sandbox) -> list[str]:
    """What is marked, gated, held or promised, and pods that leave or wait."""
    found = []
    for pod in sandbox.list_pods():
        name, mark = pod["metadata"]["name"], condition(pod, "DisruptionTarget")
        held = condition(pod, "reprieve.dev/Held")
        if pod["metadata"].get("deletionTimestamp"):
            found.append(f"{name} leaves")
        elif pod["spec"].get("schedulingGates") or (held or {}).get("status") == "True":
            found.append(f"{name} is held")
        elif mark is not None and is_ours(mark):
            found.append(f"{name} is marked")
        elif not pod["spec"].get("nodeName"):
            found.append(f"{name} is not bound")
    found += [f"{plan['metadata']['name']} is active" for plan in of_enforce(sandbox) if is_open(plan)]
    return found


def is_ours(mark: Json) -> bool:
    """Whether the mark of a victim is ours. The scheduler signs nothing."""
    return "[term " in mark["message"]


def of_enforce(sandbox: Sandbox) -> list[Json]:
    """The plans for the gang `hero` that were not only observed."""
    return [plan for plan in sandbox.plans("hero") if "mode" not in plan["spec"]]


def is_open(plan: Json) -> bool:
    """Whether the plan goes on, or keeps its finalizer."""
    ended = plan["status"]["phase"] in ("Aborted", "Bound")
    return not ended or bool(plan["metadata"].get("finalizers"))


def grant(plane: ControlPlane) -> None:
    """The account of reprieve may do what a process that acts does."""
    for body in yaml.safe_load_all((MANIFESTS / "rights" / "rbac.yaml").read_text()):
        plane.client.apply(body)
    wait_for(lambda: may_delete(plane))


def revoke(plane: ControlPlane) -> None:
    """It may do what an observer does."""
    for body in yaml.safe_load_all((MANIFESTS / "rights" / "rbac.yaml").read_text()):
        meta = body["metadata"]
        plane.client.delete(body["apiVersion"], body["kind"], meta["name"])
    wait_for(lambda: not may_delete(plane))


def may_delete(plane: ControlPlane) -> bool:
    with closing(Client.of_kubeconfig(plane.layout.kubeconfig_of("reprieve"))) as client:
        return may(client, "delete", "pods")
