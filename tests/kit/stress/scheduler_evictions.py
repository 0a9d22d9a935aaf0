"""Is every eviction by kube-scheduler for a native PodGroup right? Judged by watches, and by the scheduler's log.

Only evictions for native groups, by the scheduler that calls reprieve. It marks a pod, deletes it, and writes an event
that names the PodGroup by its UID.

An eviction is right if a steered plan of the group names the pod, is older than the mark, and has not ended long
before. For a group without a plan it is right if the group is no gang, or if no event names the group and it may be
such a one. What the plan does not name has to stand in `status.unplanned`. In no case is a unit broken that the
scheduler does not know. Nothing is judged where the scheduler went on without an answer. Where it counted a pod that
was gone (`tests.kit.stress.kept_room`), it may have found no room that was free.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.kit.stress.history import (
    LAG_SECONDS,
    History,
    Json,
    State,
    has_ended,
    is_alive,
    is_bound,
    name_of,
    victim_pods,
)
from tests.kit.stress.kept_room import KeptRoom
from tests.kit.stress.natives import is_native, native_group_of
from tests.kit.stress.rest import ACTIVE, minimum_of

__all__ = ["CHECKS", "Taken", "Told", "taken", "unplanned"]

MARK: Final = re.compile(r"^default-scheduler: preempting to accommodate a higher priority podgroup$")
PREEMPTED: Final = re.compile(r"^Preempted by podgroup (\S+) on node ")
PASS_SECONDS: Final = 10.0
"""From the first call of an attempt to the marks of its victims. A plan that ends after the offers of a pass may still
be followed by marks, and an answer that was lost in the pass counts for all of its victims."""


@dataclass(frozen=True, slots=True)
class Told:
    """What else is known of a run."""

    skips: Mapping[str, Sequence[float]]
    """See `tests.kit.stress.pieces.skipped`."""
    holds: bool = True
    """Whether native gangs are held without a plan: `planning.nativeGroups` is not Off."""
    kept: Sequence[KeptRoom] = ()
    """Room that the scheduler counted for pods that were gone."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A pod that kube-scheduler evicted for a native group."""

    mark: State
    """The pod's first state with the mark."""
    group: str
    """The UID of the native group; empty if no event names it."""

    @property
    def uid(self) -> str:
        """Of the pod."""
        return str(self.mark.body["metadata"]["uid"])

    def __str__(self) -> str:
        return f"pod {name_of(self.mark.body)}"


def taken(history: History) -> list[Taken]:
    """The pods that kube-scheduler marked for native groups, in order. A pod that is marked anew counts twice."""
    groups = _groups(history)
    found = []
    for uid, states in history.states["Pod"].items():
        before: State | None = None
        for state in states:
            if _is_marked(state) and not (before is not None and _is_marked(before)) and not state.gone:
                found.append(Taken(state, groups.get(uid, "")))
            before = state
    return sorted(found, key=lambda each: each.mark.version)


def unplanned(history: History) -> list[str]:
    """Pods that the scheduler evicted by a steered plan that does not name them, but `status.unplanned` does."""
    return [
        str(each) for each in taken(history) if any(_records(plan, each) for plan in _plans(history, each))
    ]


def unplanned_evictions(history: History, told: Told) -> list[str]:
    """Pods that the scheduler evicted for a gang that had no steered plan with them."""
    return [
        f"kube-scheduler evicted {each} for {_named(history, each)}: {_plans_told(history, each)}"
        for each in _judged(history, told)
        if not _is_right(history, told, each) and not _had_no_room(told, each)
    ]


def broken_by_the_scheduler(history: History, told: Told) -> list[str]:
    """Units that the scheduler does not know and has broken: it evicted a pod, and others stayed."""
    wrong = []
    for each in _judged(history, told):
        pod = each.mark.body
        unit = history.group_of(pod, each.mark.version)
        if unit is None or is_native(unit) or "all" not in (unit["spec"].get("disruptionMode") or {}):
            continue
        left = sorted(
            other["metadata"]["name"]
            for other in history.members(unit, each.mark.version)
            if is_bound(other) and other["metadata"]["uid"] != each.uid and _stays(history, other)
        )
        if left:
            wrong.append(
                f"kube-scheduler evicted {each} for {_named(history, each)} and left {left} of {name_of(unit)}"
            )
    return wrong


def evicted_by_both(history: History, told: Told) -> list[str]:
    """Pods that one evictor evicted although the other one had done so longer ago than the watches take."""
    wrong = []
    marked = {each.uid: each for each in taken(history)}
    for asked in history.deletions:
        each, ended = marked.get(asked.uid), _ended_at(history, asked.uid)
        if each is None or ended is None:
            continue
        if asked.answered + LAG_SECONDS < each.mark.at:
            wrong.append(f"kube-scheduler evicted {each} after reprieve had evicted it")
        elif each.mark.at < asked.received and ended + LAG_SECONDS < asked.received:
            wrong.append(f"reprieve evicted {each} after kube-scheduler had evicted it")
    return wrong


CHECKS: Final[tuple[Callable[[History, Told], list[str]], ...]] = (
    unplanned_evictions,
    broken_by_the_scheduler,
    evicted_by_both,
)


# ---- what belongs together


def _is_marked(state: State) -> bool:
    return any(
        (each["type"], each["status"] or "True") == ("DisruptionTarget", "True")
        and MARK.match(each.get("message", "")) is not None
        for each in state.body.get("status", {}).get("conditions") or ()
    )


def _groups(history: History) -> dict[str, str]:
    """UIDs of victims to those of the native groups that they made room for, by the scheduler's events."""
    found = {}
    for states in history.states["Event"].values():
        event = states[-1].body
        match = PREEMPTED.match(event.get("note", "")) if event["reason"] == "Preempted" else None
        if match is not None:
            found[(event.get("regarding") or {}).get("uid", "")] = match[1]
    return found


def _judged(history: History, told: Told) -> Iterator[Taken]:
    """Evictions around which everything is known, and that followed the answers of reprieve."""
    for each in taken(history):
        first = history.version_at(each.mark.at - PASS_SECONDS)
        if not history.has_gap(first, each.mark.version) and not _was_unanswered(history, told, each):
            yield each


def _was_unanswered(history: History, told: Told, each: Taken) -> bool:
    """Whether the scheduler went on without an answer in the attempt that evicted the pod."""
    return any(
        -LAG_SECONDS < each.mark.at - at < PASS_SECONDS
        for name in _members(history, each)
        for at in told.skips.get(name, ())
    )


def _members(history: History, each: Taken) -> set[str]:
    """NAMESPACE/NAME of the pods that the group ever had. Those of all native groups, if it is not known."""
    groups = (states[-1].body for states in history.states["PodGroup"].values())
    names = {
        (group["metadata"]["namespace"], group["metadata"]["name"])
        for group in groups
        if is_native(group) and each.group in ("", group["metadata"]["uid"])
    }
    pods = (states[-1].body for states in history.states["Pod"].values())
    return {name_of(pod) for pod in pods if (pod["metadata"]["namespace"], native_group_of(pod)) in names}


def _is_right(history: History, told: Told, each: Taken) -> bool:
    plans = _plans(history, each)
    if any(_names(plan, each) or _records(plan, each) for plan in plans):
        return True
    if not each.group:
        return not told.holds or _may_be_basic(history, each)
    states = history.of("PodGroup", each.group)
    is_gang = bool(states) and minimum_of(states[-1].body) is not None
    return bool(states) and not plans and not (is_gang and told.holds)


def _had_no_room(told: Told, each: Taken) -> bool:
    """Whether the scheduler counted a pod on the node that was gone: it did not find the room that was free."""
    return any(kept.concerns(each.mark.body["spec"]["nodeName"], each.mark.at) for kept in told.kept)


def _may_be_basic(history: History, each: Taken) -> bool:
    """Whether a pod of a group that is no gang waited when the pod was marked."""
    groups = (state.body for state in history.existing("PodGroup", each.mark.version))
    return any(
        not is_bound(pod)
        for group in groups
        if is_native(group) and minimum_of(group) is None
        for pod in history.members(group, each.mark.version)
    )


def _plans(history: History, each: Taken) -> list[Json]:
    """The steered plans of the group that held room when the pod was marked, or a little earlier, as they were last."""
    first = history.version_at(each.mark.at - PASS_SECONDS)
    return [
        states[-1].body
        for uid, states in history.states["PreemptionPlan"].items()
        if states[0].body["spec"].get("evictedBy") == "Scheduler"
        and each.group in ("", states[0].body["spec"]["preemptor"]["uid"])
        and any(
            not state.gone and state.body.get("status", {}).get("phase", "Planned") in ACTIVE
            for state in history.between("PreemptionPlan", uid, first, each.mark.version)
        )
    ]


def _names(plan: Json, each: Taken) -> bool:
    return any(pod["uid"] == each.uid for pod in victim_pods(plan))


def _records(plan: Json, each: Taken) -> bool:
    return each.uid in (plan.get("status", {}).get("unplanned") or ())


def _stays(history: History, pod: Json) -> bool:
    """Whether a pod is there in the end, and nothing has begun to remove it."""
    last = history.of("Pod", pod["metadata"]["uid"])[-1]
    return is_alive(last) and not has_ended(last.body)


def _ended_at(history: History, uid: str) -> float | None:
    """When the watch told that a pod terminates or is gone, in seconds since the epoch."""
    return next((state.at for state in history.of("Pod", uid) if not is_alive(state)), None)


def _named(history: History, each: Taken) -> str:
    states = history.of("PodGroup", each.group)
    return name_of(states[-1].body) if states else "a group that is not known"


def _plans_told(history: History, each: Taken) -> str:
    """What plans the group had, with their phases at the mark."""
    said = []
    for uid in history.states["PreemptionPlan"]:
        state = history.state("PreemptionPlan", uid, each.mark.version)
        if state is None or state.body["spec"]["preemptor"]["uid"] != each.group:
            continue
        spec, phase = state.body["spec"], state.body.get("status", {}).get("phase", "Planned")
        said.append(f"{name_of(state.body)} by {spec.get('evictedBy')} was {phase}")
    return "; ".join(said) or "it had no plan"
