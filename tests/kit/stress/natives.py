"""Kubernetes' own PodGroups, shown as ours: so the other judges see them as they see ours.

Nothing of the engine is used. Pods get the label of a PodGroup with the name that plans use. Watched objects are of
the kind WATCHED, because both kinds are called PodGroup.
"""

from __future__ import annotations

from typing import Final

from tests.kit.plans.raw import GROUP_LABEL
from tests.kit.stress.history import Gap, History, Json, State
from tests.kit.stress.rest import Rest

__all__ = ["WATCHED", "is_native", "show_natives", "show_natives_at_rest"]

WATCHED: Final = "NativePodGroup"
PREFIX: Final = "podgroups.scheduling.k8s.io:"
"""The names of native groups in plans begin with it."""


def is_native(group: Json) -> bool:
    """Whether a PodGroup of a history is a native one."""
    return bool(group["metadata"]["name"].startswith(PREFIX))


def show_natives(history: History) -> None:
    """Add a PodGroup for each native one, and label their pods, in all states."""
    for states in history.states["Pod"].values():
        for state in states:
            _label(state.body)
    for uid, states in history.states[WATCHED].items():
        shown = [State(each.version, each.at, each.gone, _shown(each.body)) for each in states]
        history.states["PodGroup"][uid] = shown
    gaps = [Gap("PodGroup", gap.first, gap.last) for gap in history.gaps if gap.kind == WATCHED]
    history.gaps += gaps


def show_natives_at_rest(rest: Rest, groups: list[Json]) -> Rest:
    """The same for a cluster at one moment. A group with a member that differs is left out: it is never tried."""
    for pod in rest.pods:
        _label(pod)
    shown = [_shown(each) for each in groups]
    members = Rest(rest.pods, rest.nodes, shown, rest.plans, rest.classes)
    tried = [each for each in shown if not _differs(each, members.members(each))]
    return Rest(rest.pods, rest.nodes, [*rest.groups, *tried], rest.plans, rest.classes)


def _differs(group: Json, members: list[Json]) -> bool:
    priority = int(group["spec"].get("priority") or 0)
    return any(int(pod["spec"].get("priority") or 0) != priority for pod in members)


def _label(pod: Json) -> None:
    name = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    if name:
        labels = pod["metadata"].get("labels") or {}
        pod["metadata"]["labels"] = {**labels, GROUP_LABEL: PREFIX + name}


def _shown(group: Json) -> Json:
    meta = {**group["metadata"], "name": PREFIX + group["metadata"]["name"]}
    return {**group, "kind": "PodGroup", "metadata": meta}
