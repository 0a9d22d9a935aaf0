"""A gang of kube-scheduler's own kind, groups of that kind, and their pods."""

from __future__ import annotations

from typing import Any, Final

from api.core import Pod
from api.foreign_groups import NativePodGroup
from api.groups import PodGroup
from nodes.groups import native
from tests.kit.objects import make, pod

__all__ = ["GANG_KEY", "hero", "native_group", "native_object", "native_pod", "small", "started"]

GANG_KEY: Final = ("default", "podgroups.scheduling.k8s.io:gang")


def native_group(name: str = "gang", **fields: Any) -> PodGroup:
    """The internal form of a `native_object`."""
    return native.form(native_object(name, **fields))


def native_object(
    name: str = "gang",
    *,
    minimum: int = 1,
    mode: str | None = "single",
    priority: int | None = 100,
    **spec: Any,
) -> NativePodGroup:
    """A PodGroup of scheduling.k8s.io. It is basic if the minimum is 0."""
    policy = {"gang": {"minCount": minimum}} if minimum else {"basic": {}}
    body = {
        "metadata": {"namespace": "default", "name": name, "uid": f"uid-{name}"},
        "spec": {
            "schedulingPolicy": policy,
            "disruptionMode": {mode: {}} if mode else None,
            "priority": priority,
            **spec,
        },
    }
    return make(NativePodGroup, body)


def native_pod(name: str, group: str = "gang", *, priority: int = 100, **fields: Any) -> Pod:
    """A pod of that group. See `tests.kit.objects.pod`."""
    return pod(name, priority=priority, schedulingGroup={"podGroupName": group}, **fields)


def started(minute: int) -> str:
    """A time in the first hour of 2026."""
    return f"2026-01-01T00:{minute:02}:00Z"


def hero(cpu: str = "2", **fields: Any) -> Pod:
    """The only member of the gang."""
    return native_pod("m0", requests={"cpu": cpu}, **fields)


def small(name: str, where: str = "n0", *, minute: int = 0, **fields: Any) -> Pod:
    """A pod of one CPU that started in this minute; its priority is 5."""
    given: dict[str, Any] = {"node": where, "priority": 5, "started": started(minute)}
    return pod(name, **(given | fields))
