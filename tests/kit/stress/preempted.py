"""Whom schedulers preempted, for whom, and how preemptors stood: as watches tell it, and from nothing else.

Nothing of the ledger is used. Native groups and groups by owner have to be shown as PodGroups before (see `natives` and
`owned`). A preemptor has the UID of its gang, or of a pod that is in none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tests.kit.plans.raw import GROUP_LABEL
from tests.kit.stress.history import LAG_SECONDS, History, Json, State, has_ended, is_alive
from tests.kit.stress.owned import OWNERS
from tests.kit.stress.rest import minimum_of

__all__ = ["Stand", "Taken", "stands_of", "taken"]

SIGNED: Final = re.compile(r" \[term \d+ of [^\]]*\]$")
SAID: Final = re.compile(r"^Preempted by (?:pod|podgroup) (\S+) on node (\S+)")
GATE: Final = "reprieve.dev/gang"


@dataclass(frozen=True, slots=True)
class Taken:
    """A pod that a scheduler preempted."""

    uid: str
    node: str
    at: float
    """When it was marked; when its event was written, if nobody saw the mark. In seconds since the epoch."""
    named_at: float
    """When its event was seen; `at` without one."""
    preemptors: frozenset[str]
    """UIDs. Several, if the preemptor's gang changed about then. Empty without an event."""
    units: frozenset[str]
    """UIDs of the groups that it may be evicted whole with, or its own."""
    running: tuple[int, int] = (1, 1)
    """At least and at most how many pods of the unit ran, this one included."""
    priority: tuple[int, int] = (0, 0)
    """At least and at most, of the unit."""


@dataclass(frozen=True, slots=True)
class Stand:
    """How far a preemptor is, from a time on."""

    at: float
    nodes: frozenset[str] = frozenset()
    placed: int = 0
    """How many of its pods have a node, or Succeeded."""
    waiting: int = 0
    minimum: int | None = None
    """None: it is gone, or no gang any longer."""

    @property
    def is_there(self) -> bool:
        """Whether it exists."""
        return self.minimum is not None

    @property
    def is_whole(self) -> bool:
        """Whether it runs as a whole."""
        return self.minimum is not None and self.placed >= self.minimum

    @property
    def is_in_pieces(self) -> bool:
        """Whether a part of it is bound."""
        return self.minimum is not None and 0 < self.placed < self.minimum


# ---- victims


def taken(history: History) -> list[Taken]:
    """All of them, in the order of time."""
    events = _events(history)
    found = []
    for uid in {*history.states["Pod"], *events}:
        mark = _mark(history, uid)
        said = events.get(uid, [])
        if mark is None and not said:
            continue
        at = mark.at if mark is not None else min(_written(each) for each in said)
        named = min((each.at for each in said), default=at)
        node = mark.body["spec"]["nodeName"] if mark is not None else _match(said[0])[2]
        preemptors = frozenset(one for each in said for one in _preemptors(history, _match(each)[1], each.at))
        found.append(_in_unit(history, Taken(uid, node, at, named, preemptors, frozenset((uid,))), mark))
    return sorted(found, key=lambda each: (each.at, each.uid))


def _events(history: History) -> dict[str, list[State]]:
    """By the UID of a pod: the events that say for whom it was preempted."""
    found: dict[str, list[State]] = {}
    for states in history.states["Event"].values():
        body = states[0].body
        if body["reason"] == "Preempted" and SAID.match(body.get("note", "")):
            found.setdefault((body.get("regarding") or {}).get("uid", ""), []).append(states[0])
    return found


def _match(event: State) -> re.Match[str]:
    match = SAID.match(event.body["note"])
    assert match is not None
    return match


def _written(event: State) -> float:
    text = event.body.get("eventTime") or event.body["metadata"].get("creationTimestamp")
    return min(event.at, datetime.fromisoformat(text).timestamp()) if text else event.at


def _mark(history: History, uid: str) -> State | None:
    """The first state of a pod on a node that a scheduler has marked."""
    for state in history.of("Pod", uid):
        if state.body["spec"].get("nodeName") and any(map(_is_mark, _conditions(state.body))):
            return state
    return None


def _conditions(pod: Json) -> list[Json]:
    return list(pod.get("status", {}).get("conditions") or ())


def _is_mark(condition: Json) -> bool:
    """Where reprieve took its mark off the pod at that moment, what was the same in both is missing."""
    kind = condition["type"], condition["status"] or "True", condition.get("reason", "PreemptionByScheduler")
    is_one = kind == ("DisruptionTarget", "True", "PreemptionByScheduler")
    return is_one and SIGNED.search(condition.get("message", "")) is None


def _around(history: History, at: float) -> tuple[int, int]:
    return history.version_at(at - LAG_SECONDS), history.version_at(at + LAG_SECONDS)


def _preemptors(history: History, uid: str, at: float) -> set[str]:
    """Of a pod that an event names: its gangs about then, else itself. Of a native group: itself."""
    states = history.of("Pod", uid)
    if not states:
        return {uid}
    first, last = _around(history, at)
    found = set()
    for version in _versions(history, uid, first, last):
        state = history.state("Pod", uid, version)
        if state is None:
            continue  # it is not there yet
        group = None if state.gone else history.group_of(state.body, version)
        is_gang = group is not None and minimum_of(group) is not None
        found.add(group["metadata"]["uid"] if group is not None and is_gang else uid)
    return found or {uid}


def _versions(history: History, uid: str, first: int, last: int) -> list[int]:
    """Those at which a pod or a PodGroup changed."""
    pods = [each.version for each in history.between("Pod", uid, first, last)]
    groups = [
        each.version
        for other in history.states["PodGroup"]
        for each in history.between("PodGroup", other, first, last)
    ]
    return sorted({first, last, *(each for each in (*pods, *groups) if first < each < last)})


def _in_unit(history: History, victim: Taken, mark: State | None) -> Taken:
    """With what it is evicted, as it may have been about the time of its mark."""
    if mark is None:
        return victim
    units, running, priorities = set[str](), [1], set[int]()
    first, last = _around(history, mark.at)
    for version in _versions(history, victim.uid, first, min(last, mark.version)):
        group = history.group_of(mark.body, version)
        own = int(mark.body["spec"].get("priority") or 0)
        priorities.add(own)
        if group is None:
            units.add(victim.uid)
            if owner := _owner_of(mark.body):  # its pods may still be one unit
                units.add(owner)
                running += [1, len(_fellows(history, mark.body, version))]
            continue
        if _has_priority(group):
            priorities.add(history.group_priority(group))
        if "all" not in (group["spec"].get("disruptionMode") or {}):
            units.add(victim.uid)
            continue
        units.add(group["metadata"]["uid"])
        members = [each for each in history.members(group, version) if _runs(each)]
        priorities.update(int(each["spec"].get("priority") or 0) for each in members)
        running.append(len({*(each["metadata"]["uid"] for each in members), victim.uid}))
    several = running[1:] or running
    return Taken(
        victim.uid,
        victim.node,
        victim.at,
        victim.named_at,
        victim.preemptors,
        frozenset(units),
        (min(several), max(several)),
        (min(priorities), max(priorities)),
    )


def _owner_of(pod: Json) -> str:
    """The UID of the owner that the pod is in the group of, if that is a group by owner."""
    name = str((pod["metadata"].get("labels") or {}).get(GROUP_LABEL, ""))
    return name.rpartition(":")[2] if _is_by_owner(name) else ""


def _is_by_owner(name: str) -> bool:
    """Whether a group of this name is there because of an owner. Without a pod it is gone."""
    return name.partition(":")[0] in OWNERS.values()


def _fellows(history: History, pod: Json, version: int) -> list[Json]:
    """The pods of the same group that run."""
    meta = pod["metadata"]
    group = {"metadata": {"namespace": meta["namespace"], "name": meta["labels"][GROUP_LABEL]}}
    return [each for each in history.members(group, version) if _runs(each)]


def _has_priority(group: Json) -> bool:
    return group["spec"].get("priority") is not None or bool(group["spec"].get("priorityClassName"))


def _runs(pod: Json) -> bool:
    is_bound = bool(pod["spec"].get("nodeName")) and not pod["metadata"].get("deletionTimestamp")
    return is_bound and not has_ended(pod)


# ---- preemptors


def stands_of(history: History, uid: str) -> list[Stand]:
    """How a preemptor stood, from its first state to its last one."""
    if uid in history.states["PodGroup"]:
        return _merged(_of_gang(history, uid))
    return _merged(_of_pod(state) for state in history.of("Pod", uid))


def _merged(stands: Iterator[Stand]) -> list[Stand]:
    """Without those that say what the one before says."""
    found: list[Stand] = []
    for each in stands:
        at = max(each.at, found[-1].at) if found else each.at
        if not found or _content(found[-1]) != _content(each):
            found.append(Stand(at, each.nodes, each.placed, each.waiting, each.minimum))
    return found


def _content(stand: Stand) -> tuple[object, ...]:
    return stand.nodes, stand.placed, stand.waiting, stand.minimum


def _of_pod(state: State) -> Stand:
    if state.gone or has_ended(state.body):
        return Stand(state.at)
    node = state.body["spec"].get("nodeName")
    return Stand(state.at, frozenset((node,) if node else ()), int(bool(node)), int(not node), 1)


def _of_gang(history: History, uid: str) -> Iterator[Stand]:
    own = history.of("PodGroup", uid)
    meta = own[0].body["metadata"]
    pods = [
        each
        for states in history.states["Pod"].values()
        for each in states
        if each.body["metadata"]["namespace"] == meta["namespace"]
        and (each.body["metadata"].get("labels") or {}).get(GROUP_LABEL) == meta["name"]
    ]
    steps = sorted({each.version: each.at for each in (*pods, *own)}.items())
    for version, at in steps:
        if version < own[0].version:
            continue
        state = history.state("PodGroup", uid, version)
        minimum = None if state is None or state.gone else minimum_of(state.body)
        if state is None or minimum is None:
            yield Stand(at)
            continue
        members = history.members(state.body, version)
        is_empty = not members and _is_by_owner(state.body["metadata"]["name"])
        yield Stand(at) if is_empty else _standing(members, minimum, at)


def _standing(members: list[Json], minimum: int, at: float) -> Stand:
    succeeded = sum(each.get("status", {}).get("phase") == "Succeeded" for each in members)
    alive = [each for each in members if _is_member(each)]
    nodes = [each["spec"]["nodeName"] for each in alive if each["spec"].get("nodeName")]
    return Stand(at, frozenset(nodes), len(nodes) + succeeded, len(alive) - len(nodes), minimum)


def _is_member(pod: Json) -> bool:
    gates = {each["name"] for each in pod["spec"].get("schedulingGates") or ()}
    is_there = is_alive(State(0, 0.0, gone=False, body=pod))
    return is_there and not has_ended(pod) and gates <= {GATE}
