"""Kubernetes' own PodGroups, shown as ours: so the other judges see them as they see ours.

Nothing of the engine is used. Pods get the label of a PodGroup with the name that plans use. Watched objects are of
the kind WATCHED, because both kinds are called PodGroup. A basic group takes no pod from a group of ours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from tests.kit.plans.raw import GROUP_LABEL
from tests.kit.stress.history import Gap, History, Json, State
from tests.kit.stress.rest import Rest

__all__ = ["WATCHED", "is_native", "native_group_of", "show_natives", "show_natives_at_rest"]

WATCHED: Final = "NativePodGroup"
PREFIX: Final = "podgroups.scheduling.k8s.io:"
"""The names of native groups in plans begin with it."""


def is_native(group: Json) -> bool:
    """Whether a PodGroup of a history is a native one."""
    return bool(group["metadata"]["name"].startswith(PREFIX))


def native_group_of(pod: Json) -> str:
    """The name of the native group that a pod is in, as plans use it; empty if it is in none."""
    name = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return PREFIX + name if name else ""


def show_natives(history: History) -> None:
    """Add a PodGroup for each native one, and label their pods, in all states."""
    basic = _basic(states[-1].body for states in history.states[WATCHED].values())
    for states in history.states["Pod"].values():
        for state in states:
            _label(state.body, basic)
    for uid, states in history.states[WATCHED].items():
        shown = [State(each.version, each.at, each.gone, _shown(each.body)) for each in states]
        history.states["PodGroup"][uid] = shown
    gaps = [Gap("PodGroup", gap.first, gap.last) for gap in history.gaps if gap.kind == WATCHED]
    history.gaps += gaps


def show_natives_at_rest(rest: Rest, groups: list[Json]) -> Rest:
    """The same for a cluster at one moment. A group with a member that differs is left out: it is never tried."""
    basic = _basic(groups)
    for pod in rest.pods:
        _label(pod, basic)
    shown = [_shown(each) for each in groups]
    members = Rest(rest.pods, rest.nodes, shown, rest.plans, rest.classes)
    tried = [each for each in shown if not _differs(each, members.members(each))]
    return Rest(rest.pods, rest.nodes, [*rest.groups, *tried], rest.plans, rest.classes)


def _basic(groups: Iterable[Json]) -> set[tuple[str, str]]:
    """Namespaces and names, as plans use them, of those that are no gangs."""
    return {
        (each["metadata"]["namespace"], PREFIX + each["metadata"]["name"])
        for each in groups
        if "gang" not in each["spec"]["schedulingPolicy"]
    }


def _differs(group: Json, members: list[Json]) -> bool:
    priority = int(group["spec"].get("priority") or 0)
    return any(int(pod["spec"].get("priority") or 0) != priority for pod in members)


def _label(pod: Json, basic: Collection[tuple[str, str]]) -> None:
    name, labels = native_group_of(pod), pod["metadata"].get("labels") or {}
    if name and not (GROUP_LABEL in labels and (pod["metadata"]["namespace"], name) in basic):
        pod["metadata"]["labels"] = {**labels, GROUP_LABEL: name}


def _shown(group: Json) -> Json:
    meta = {**group["metadata"], "name": PREFIX + group["metadata"]["name"]}
    return {**group, "kind": "PodGroup", "metadata": meta}
