"""Evictions in vain, judged by watch and audit log.

A plan's phases say here only when it was carried out, and its spec says what was decided. What the plan says of its
own end, and our verdict on it, count for nothing: pods, groups, nodes and deletions show the result.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

from tests.kit.plans.raw import GROUP_LABEL
from tests.kit.stress.history import (
    LAG_SECONDS,
    History,
    Json,
    State,
    is_alive,
    is_bound,
    name_of,
    victim_pods,
)
from tests.kit.stress.scheduler_evictions import Taken, taken

__all__ = ["AT_MOST", "FORGET_SECONDS", "in_vain", "too_often_in_vain"]

AT_MOST: Final = 2
"""Number of plans in vain after which nothing is evicted for a gang until it runs, or until something changes."""
FORGET_SECONDS: Final = 1800.0
"""`planning.inVainSeconds`: after this time it may evict again."""
ACTIVE: Final = frozenset({"Planned", "Confirmed", "Evicting", "Ready"})


@dataclass(eq=False)
class _Attempt:
    """One time that a plan was carried out. The same decision, made again, is the same object."""

    plan: Json
    began: State
    evicting: State | None = None
    """None if it did not come to that."""
    ended: State | None = None
    """None if it has not ended."""
    gone: dict[str, int] = field(default_factory=dict)
    """The victims that were evicted for it: UID to the version at which they were gone."""

    @property
    def gang(self) -> str:
        """The UID of the PodGroup."""
        return str(self.plan["spec"]["preemptor"]["uid"])

    def nodes(self) -> frozenset[str]:
        """Where it places the members that minCount needs."""
        return frozenset(each["node"] for each in _needed(self.plan))


@dataclass(frozen=True)
class _Gang:
    """One that had a plan."""

    uid: str
    name: str
    attempts: list[_Attempt]
    """Those that evicted a pod, in order."""
    others: list[_Attempt]
    """Those of all other gangs."""


def in_vain(history: History) -> dict[str, list[str]]:
    """NAMESPACE/NAME (UID) of a gang to its plans that evicted and came to nothing."""
    return {
        gang.name: [name_of(each.plan) for each in found]
        for gang in _gangs(history)
        if (found := [each for each, _ in _vain(history, gang)])
    }


def too_often_in_vain(history: History) -> list[str]:
    """Gangs for which pods went in vain more than twice, though they never ran between and nothing had changed."""
    wrong = []
    for gang in _gangs(history):
        count, before = 0, None
        for each, ran_before in _vain(history, gang):
            count = 1 if ran_before else count + 1
            if count > AT_MOST and before is not None and not _changed(history, gang, before, each):
                wrong.append(
                    f"gang {gang.name}: plan {name_of(each.plan)} evicted in vain, the {count}. time"
                )
            before = each
    return wrong


def _gangs(history: History) -> list[_Gang]:
    found = [each for states in history.states["PreemptionPlan"].values() for each in _attempts(states)]
    found.sort(key=lambda each: each.began.version)
    for asked in history.deletions:
        version = history.ended(asked.uid)
        attempt = _responsible(found, asked.uid, version) if version is not None else None
        if attempt is not None and version is not None:
            attempt.gone[asked.uid] = version
    for each in taken(history):
        _count_steered(history, found, each)
    names = {each.gang: _gang_name(each.plan) for each in found}
    return [
        _Gang(
            uid,
            name,
            [each for each in found if each.gang == uid and each.gone and not _releases(each.plan)],
            [each for each in found if each.gang != uid],
        )
        for uid, name in names.items()
    ]


def _count_steered(history: History, attempts: list[_Attempt], each: Taken) -> None:
    """A pod that kube-scheduler evicted counts for the last steered plan with it that had not ended long before."""
    version = history.ended(each.uid)
    first = history.version_at(each.mark.at - LAG_SECONDS)
    named = [
        attempt
        for attempt in attempts
        if attempt.plan["spec"].get("evictedBy") == "Scheduler"
        and attempt.gang == each.group
        and attempt.began.version <= each.mark.version
        and (attempt.ended is None or first <= attempt.ended.version)
        and any(pod["uid"] == each.uid for pod in victim_pods(attempt.plan))
    ]
    if named and version is not None:
        named[-1].gone[each.uid] = version


def _releases(plan: Json) -> bool:
    """Whether the gang's own bound members go: then the plan makes room for nobody, and is not in vain."""
    return bool(plan["spec"].get("outcome") == "Releases")


def _attempts(states: list[State]) -> list[_Attempt]:
    """The times that the plan with these states was carried out."""
    found: list[_Attempt] = []
    for state in states:
        is_active = not state.gone and state.body.get("status", {}).get("phase", "Planned") in ACTIVE
        is_open = bool(found) and found[-1].ended is None
        if is_active and not is_open:
            found.append(_Attempt(state.body, state))
        elif is_open and not is_active:
            found[-1].ended = state
        if (
            is_active
            and found[-1].evicting is None
            and state.body.get("status", {}).get("phase") == "Evicting"
        ):
            found[-1].evicting = state
    return found


def _responsible(attempts: list[_Attempt], uid: str, version: int) -> _Attempt | None:
    """The plan for which a pod went: the last plan that evicted and names it. Plans that had not ended come first."""
    named = [
        (each.ended is None or version <= each.ended.version, each.began.version, each)
        for each in attempts
        if each.evicting is not None
        and each.evicting.version <= version
        and any(pod["uid"] == uid for pod in victim_pods(each.plan))
    ]
    return max(named, key=lambda each: each[:2])[2] if named else None


def _gang_name(plan: Json) -> str:
    preemptor = plan["spec"]["preemptor"]
    return f"{preemptor['namespace']}/{preemptor['name']} ({preemptor['uid']})"


# ---- what became of the room


def _vain(history: History, gang: _Gang) -> Iterator[tuple[_Attempt, bool]]:
    """The attempts in vain, each with whether the gang has run since the one before."""
    has_run = False
    for each, after in zip_longest(gang.attempts, gang.attempts[1:]):
        if history.has_gap(each.began.version, after.began.version if after is not None else math.inf):
            has_run = True  # perhaps: nobody saw it
            continue
        first = min(each.gone.values())
        runs = _runs(history, gang, first, after.began.version if after is not None else None)
        if each.ended is not None and not runs and not _has_excuse(history, gang, each, after):
            yield each, has_run
            has_run = False
        has_run |= runs


def _has_excuse(history: History, gang: _Gang, each: _Attempt, after: _Attempt | None) -> bool:
    """Whether nobody wants the room, another one of higher priority took it, or the gang's next plan goes on with it.

    The same if every planned pod was bound to its node at some time: others took them away.
    """
    return (
        _is_unwanted(history, gang, each)
        or _was_bound(history, each)
        or _is_handed_over(history, gang, each)
        or (after is not None and _goes_on(history, gang, each, after))
    )


def _is_unwanted(history: History, gang: _Gang, each: _Attempt) -> bool:
    """Whether the PodGroup was gone when the plan ended."""
    if each.ended is None:
        return False
    group = history.state("PodGroup", gang.uid, each.ended.version)
    return group is None or not is_alive(group)


def _was_bound(history: History, each: _Attempt) -> bool:
    """Whether every pod that the plan was for got its node before the plan ended."""
    needed = _needed(each.plan)
    return bool(needed) and all(
        any(
            each.ended is not None
            and state.version <= each.ended.version
            and state.body["spec"].get("nodeName") == placed["node"]
            for state in history.of("Pod", placed["uid"])
        )
        for placed in needed
    )


def _is_handed_over(history: History, gang: _Gang, each: _Attempt) -> bool:
    """Whether a gang of higher priority planned with the room while the plan was carried out."""
    if each.ended is None:
        return False
    last = history.version_at(each.ended.at + LAG_SECONDS)
    own = _priority(history, gang.uid, each.ended.version)
    return any(
        each.began.version < other.began.version <= last
        and other.nodes() & each.nodes()
        and _priority(history, other.gang, other.began.version) > own
        for other in gang.others
    )


def _goes_on(history: History, gang: _Gang, each: _Attempt, after: _Attempt) -> bool:
    """Whether the next plan that evicts uses each node where this one has made room, and evicts nobody new there.

    Nodes that have changed meanwhile do not count, nor those where a member has settled. One node has to remain.
    """
    left = {
        pod["node"]
        for pod in victim_pods(each.plan)
        if pod["uid"] in each.gone
        and pod["node"] in each.nodes()
        and not _node_changed(history, pod["node"], each.began.version, after.began.version)
    }
    settled = {str(pod["spec"]["nodeName"]) for pod in _running(_pods_of(history, gang), after.began.version)}
    known = {pod["uid"] for pod in victim_pods(each.plan)}
    others = {
        pod["node"] for pod in victim_pods(after.plan) if pod["uid"] in after.gone and pod["uid"] not in known
    }
    return bool(left) and left - settled <= after.nodes() and not left & others


def _needed(plan: Json) -> list[Json]:
    return [each for each in plan["spec"].get("placements") or () if not each.get("beyondMinCount")]


def _priority(history: History, uid: str, version: int) -> int:
    """Of a PodGroup that may be gone; lower than any if it was never seen."""
    state = history.state("PodGroup", uid, version)
    return history.group_priority(state.body) if state is not None else -(1 << 31)


# ---- whether the gang ran


def _runs(history: History, gang: _Gang, first: int, last: int | None) -> bool:
    """Whether as many pods as minCount were bound at one time, from one version on until another."""
    pods = _pods_of(history, gang)
    versions = {state.version for states in [*pods, history.of("PodGroup", gang.uid)] for state in states}
    for version in sorted(versions):
        if version < first or (last is not None and version > last):
            continue
        group = history.state("PodGroup", gang.uid, version)
        if group is not None and is_alive(group) and len(_running(pods, version)) >= _minimum(group.body):
            return True
    return False


def _pods_of(history: History, gang: _Gang) -> list[list[State]]:
    """The states of each pod with the gang's label."""
    states = history.of("PodGroup", gang.uid)
    key = name_of(states[-1].body) if states else ""
    return [
        each
        for each in history.states["Pod"].values()
        if f"{each[-1].body['metadata']['namespace']}/{_label(each[-1].body)}" == key
    ]


def _label(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get(GROUP_LABEL, ""))


def _running(pods: list[list[State]], version: int) -> list[Json]:
    """The pods that are bound at a version."""
    shown = [[state for state in states if state.version <= version][-1:] for states in pods]
    return [state.body for states in shown for state in states if not state.gone and is_bound(state.body)]


def _minimum(group: Json) -> int:
    return int((group["spec"].get("schedulingPolicy", {}).get("gang") or {}).get("minCount", 1))


# ---- what may change a mind


def _changed(history: History, gang: _Gang, before: _Attempt, each: _Attempt) -> bool:
    """Whether the PodGroup or a node that its plans left out has changed between two attempts, or 30 minutes passed."""
    if before.ended is None:
        return False
    if each.began.at - before.ended.at >= FORGET_SECONDS:
        return True
    first, last = history.version_at(before.ended.at - LAG_SECONDS), each.began.version
    generations = {
        state.body["metadata"].get("generation")
        for state in history.between("PodGroup", gang.uid, first, last)
    }
    excluded = _excluded(history, gang, last)
    return len(generations) > 1 or any(_node_changed(history, node, first, last) for node in excluded)


def _excluded(history: History, gang: _Gang, version: int) -> Collection[str]:
    """The nodes that the gang's plans left out until then, and those where others took its room."""
    states = [
        state.body
        for states in history.states["PreemptionPlan"].values()
        for state in states
        if state.version <= version and state.body["spec"]["preemptor"]["uid"] == gang.uid
    ]
    left_out = {each["node"] for body in states for each in body["spec"].get("excluded") or ()}
    return left_out | {node for body in states for node in body.get("status", {}).get("takenNodes") or ()}


def _node_changed(history: History, name: str, first: int, last: int) -> bool:
    """Whether a node came, went, or changed its labels, taints, unschedulable or allocatable between two versions."""
    seen = [
        "" if state is None or state.gone else _looks(state.body)
        for states in history.states["Node"].values()
        if states[-1].body["metadata"]["name"] == name
        for uid in [states[-1].body["metadata"]["uid"]]
        for state in [history.state("Node", uid, first), *history.between("Node", uid, first, last)]
    ]
    return len(set(seen)) > 1


def _looks(node: Json) -> str:
    spec = node.get("spec", {})
    parts = (
        node["metadata"].get("labels"),
        spec.get("taints"),
        spec.get("unschedulable", False),
        node.get("status", {}).get("allocatable"),
    )
    return repr(parts)
