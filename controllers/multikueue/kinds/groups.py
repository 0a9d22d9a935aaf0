"""The PodGroup that goes with a Job to a worker cluster: its pods are a gang there, too. Pure functions over JSON."""

from __future__ import annotations

from typing import Any, Final

from api.groups import API_VERSION, POD_GROUP_LABEL
from controllers.multikueue.kinds.bodies import sent_metadata
from controllers.multikueue.kinds.kind import Json
from controllers.multikueue.life.seen import Mark

__all__ = ["group_body", "group_of"]

FILLED_IN: Final = ("priority", "preemptionPolicy")
"""By the webhook, from the PriorityClass of the cluster. It refuses other values. Never is kept: it may be the user's,
and every class allows it."""


def group_of(job: Json) -> str:
    """The name of the PodGroup that the Job's pods join; empty if they join none."""
    meta = job["spec"]["template"].get("metadata") or {}
    name: str = (meta.get("labels") or {}).get(POD_GROUP_LABEL, "")
    return name


def group_body(group: Json, mark: Mark, origin: str) -> dict[str, Any]:
    """The PodGroup, as it is created there."""
    spec = {key: value for key, value in group["spec"].items() if key not in FILLED_IN}
    if group["spec"].get("preemptionPolicy") == "Never":
        spec["preemptionPolicy"] = "Never"
    meta = sent_metadata(group["metadata"], mark, origin)
    return {"apiVersion": API_VERSION, "kind": "PodGroup", "metadata": meta, "spec": spec}
