"""Native groups and their pods, as forged histories have them."""

from __future__ import annotations

from tests.kit.stress import natives
from tests.unit.kit.forged import Json, group, pod

__all__ = ["GANG", "member", "native"]

GANG = {"gang": {"minCount": 1}}


def native(name: str, priority: int = 100, policy: Json | None = None, mode: str | None = None) -> Json:
    """A native group, as it is recorded."""
    body = group(name, priority, mode=mode)
    return {**body, "kind": natives.WATCHED, "spec": {**body["spec"], "schedulingPolicy": policy or GANG}}


def member(name: str, of: str, priority: int = 100, node: str | None = None) -> Json:
    """A pod of a native group."""
    body = pod(name, priority, node=node)
    body["spec"]["schedulingGroup"] = {"podGroupName": of}
    return body
