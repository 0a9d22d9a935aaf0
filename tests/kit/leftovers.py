"""What is left of Enforce in an API server that is a few dictionaries (`tests.kit.apiserver`)."""

from __future__ import annotations

from typing import Any

from api.groups import SCHEDULING_GATE
from api.preempted import SIGNED
from controllers.gangs.lifecycle.stored_plan import ACTIVE, FINALIZER
from tests.kit.apiserver import Api

__all__ = ["left"]

PODS = "/api/v1/pods"
PLANS = "/apis/reprieve.dev/v1alpha1/preemptionplans"


def left(api: Api, nominated: frozenset[str] = frozenset()) -> list[str]:
    """What is marked, gated, nominated, held, in pieces or promised. `nominated`: pods by others."""
    pods, plans = api.of(PODS), api.of(PLANS)
    found = [f"{name}: {what}" for name, body in pods.items() for what in _of_pod(body, name in nominated)]
    for name, plan in plans.items():
        if plan.get("status", {}).get("phase", "Planned") in ACTIVE and "mode" not in plan["spec"]:
            found.append(f"{name}: active")
        if FINALIZER in (plan["metadata"].get("finalizers") or ()):
            found.append(f"{name}: has the finalizer")
        found += [f"{name}: {unit} in pieces" for unit in _in_pieces(plan, pods)]
    return found


def _of_pod(body: dict[str, Any], is_nominated: bool) -> list[str]:
    meta, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    if meta.get("deletionTimestamp"):
        return []
    found = ["gate" for gate in spec.get("schedulingGates") or () if gate["name"] == SCHEDULING_GATE]
    if status.get("nominatedNodeName") and not spec.get("nodeName") and not is_nominated:
        found.append("nomination")
    for each in status.get("conditions") or ():
        if (each["type"], each["status"]) == ("reprieve.dev/Held", "True"):
            found.append("held")
        if each["type"] == "DisruptionTarget" and SIGNED.search(each.get("message", "")):
            found.append("mark")
    return found


def _in_pieces(plan: dict[str, Any], pods: dict[str, Any]) -> list[str]:
    begun = plan.get("status", {}).get("begun") or ()
    there = {
        body["metadata"]["uid"] for body in pods.values() if not body["metadata"].get("deletionTimestamp")
    }
    return [
        victim["name"]
        for victim in plan["spec"].get("victims", ())
        if victim["uid"] in begun
        and len(victim["pods"]) > 1
        and 0 < sum(pod["uid"] in there for pod in victim["pods"]) < len(victim["pods"])
    ]
