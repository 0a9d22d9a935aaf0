"""Puts an answer together: each object's own, and those of the objects that it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from api.core import Pod
from api.waits import Wait
from cli.common.cluster import ClusterError
from cli.common.documents import InputError
from cli.why.objects import POD_GROUP, World
from nodes.groups.creators import why_missing
from nodes.groups.keys import is_foreign, short_name
from nodes.groups.pod_waits import why_pod_waits
from nodes.groups.registry import GroupKey, unit_of
from nodes.search.group_waits import GATHERS, why_group_waits
from nodes.search.pod_answers import answer_for_pod

__all__ = ["about_group", "about_pod"]

BY_OWNER: Final = "Victims"
"""As the tables have it."""


def about_pod(world: World, namespace: str, name: str) -> Wait:
    """The answer for a pod. Raises InputError if there is none of this name."""
    pod = world.pods.get(name)
    if pod is None:
        raise InputError(f"there is no Pod {namespace}/{name}")
    unit = unit_of(pod, BY_OWNER)
    group = None
    if unit is not None and why_pod_waits(pod).waits and POD_GROUP not in world.refused:
        group = _group(world, unit)
    return _pod(world, pod, () if group is None else (group,))


def about_group(world: World, namespace: str, name: str) -> Wait:
    """The answer for a group: a PodGroup of ours, or one of another kind that pods belong to.

    Raises InputError if there is none of this name, or several, and ClusterError if PodGroups cannot be read.
    """
    if problem := world.refused.get(POD_GROUP):
        raise ClusterError(problem)
    key = _key(world, namespace, name)
    answer = _group(world, key)
    if answer.waits and answer.state in ("OfAnotherKind", "Basic"):
        waiting = (pod for pod in _pods(world, key) if why_pod_waits(pod).waits)
        return replace(answer, depends=tuple(_pod(world, pod, ()) for pod in list(waiting)[:1]))
    return answer


def _pod(world: World, pod: Pod, depends: Sequence[Wait]) -> Wait:
    return answer_for_pod(world.snapshot, pod, world.plans, depends, _unread(world))


def _group(world: World, key: GroupKey) -> Wait:
    pods = _pods(world, key)
    answer = why_group_waits(world.snapshot, key, pods, world.plans, _unread(world))
    if answer.state not in GATHERS:
        return answer
    return replace(answer, missing=tuple(why_missing(key[1], pods, world.creators, world.events, {})))


def _pods(world: World, key: GroupKey) -> list[Pod]:
    return [pod for _, pod in sorted(world.pods.items()) if unit_of(pod, BY_OWNER) == key]


def _key(world: World, namespace: str, name: str) -> GroupKey:
    """The key of the group. NAME alone means a group of another kind if there is no other one of this name."""
    units = {unit for pod in world.pods.values() if (unit := unit_of(pod, BY_OWNER)) is not None}
    if world.group((namespace, name)) is not None or (namespace, name) in units:
        return namespace, name
    named = [unit for unit in units if is_foreign(unit[1]) and name in (short_name(unit[1]), _bare(unit[1]))]
    if not named:
        raise InputError(f"there is no PodGroup {namespace}/{name}, and no pod of a group of that name")
    if len(named) > 1:
        kinds = ", ".join(sorted(short_name(unit[1]) for unit in named))
        raise InputError(f"{namespace}/{name}: there are several groups of this name: {kinds}")
    return named[0]


def _bare(name: str) -> str:
    """The name of a group of another kind, without its kind and its UID."""
    return short_name(name).partition(":")[2]


def _unread(world: World) -> str:
    return "; ".join(world.unread())
