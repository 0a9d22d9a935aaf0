"""What happened to a cluster, as its API server told it: every state of every object, and who asked for deletions.

States of all kinds are ordered by resourceVersion, which is etcd's revision and the same count for all kinds.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from tests.kit.plans.raw import GROUP_LABEL

__all__ = [
    "LAG_SECONDS",
    "Asked",
    "Gap",
    "History",
    "State",
    "asked_deletions",
    "has_ended",
    "is_alive",
    "is_bound",
    "name_of",
    "victim_pods",
]

Json = dict[str, Any]

TELLING_SECONDS: Final = 1.0
"""Two watches of one API server tell what has happened within this number of seconds of each other."""
LAG_SECONDS: Final = 2.0
"""An action knows the cluster as it was at some time within this number of seconds, not as it is."""


@dataclass(frozen=True, slots=True)
class State:
    """An object from one version on, until its next state."""

    version: int
    """The resourceVersion; of a deleted object that of its deletion."""
    at: float
    """When the watch told it, in seconds since the epoch."""
    gone: bool
    """The object does not exist any longer; `body` is the last one."""
    body: Json


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to delete a pod, which the API server granted. Times are its own, in seconds since the epoch."""

    uid: str
    namespace: str
    name: str
    received: float
    answered: float
    version: str = ""
    """The resourceVersion of the pod that the request was made for; empty if it named none."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Nobody watched a kind between two versions, because the API server started anew. A list tells the result:
    each object is as it is at `last`, and nobody knows what it was meanwhile, if it has changed."""

    kind: str
    first: int
    """All states up to this version are known."""
    last: int
    """All states from this version on are known."""


@dataclass
class History:
    """All states of all objects that were watched, and the deletions of pods that reprieve asked for."""

    states: dict[str, dict[str, list[State]]] = field(default_factory=lambda: defaultdict(dict))
    """Kind to UID to states, in order."""
    deletions: list[Asked] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    _times: list[tuple[float, int]] = field(default_factory=list)

    def record(self, event: str, body: Json, at: float) -> None:
        """One event of a watch (ADDED, MODIFIED or DELETED)."""
        version = int(body["metadata"]["resourceVersion"])
        states = self.states[body["kind"]].setdefault(body["metadata"]["uid"], [])
        states.append(State(version, at, event == "DELETED", body))
        self._times.append((at, version))

    def list_anew(self, kind: str, listed: Iterable[Json], cut: float, version: int, at: float) -> None:
        """The watch of a kind was cut at a time (seconds since the epoch); these objects are there at a later version.

        What other watches told a while before the cut, this one had told, too.
        """
        told = [number for when, number in list(self._times) if when <= cut - TELLING_SECONDS]
        own = [state.version for states in self.states[kind].values() for state in states]
        first = max([0, *told, *own])
        left = {uid: states[-1] for uid, states in self.states[kind].items() if not states[-1].gone}
        for body in listed:
            before = left.pop(body["metadata"]["uid"], None)
            if before is None or before.version != int(body["metadata"]["resourceVersion"]):
                self.record("MODIFIED", body, at)
        for state in left.values():
            meta = {**state.body["metadata"], "resourceVersion": str(version)}
            self.record("DELETED", {**state.body, "metadata": meta}, at)
        self.gaps.append(Gap(kind, first, version))

    def sort(self) -> None:
        """Call it once when everything is recorded: the watches of several kinds are not told in one order."""
        self._times.sort()
        highest = 0
        for place, (at, version) in enumerate(self._times):
            highest = max(highest, version)
            self._times[place] = (at, highest)

    def write(self, path: Path) -> None:
        """The gaps, and every state in order, as lines of JSON, for whoever looks for a cause."""
        found = [
            (state, kind)
            for kind, each in self.states.items()
            for states in each.values()
            for state in states
        ]
        with path.open("w") as file:
            for gap in self.gaps:
                file.write(json.dumps({"gap": gap.kind, "first": gap.first, "last": gap.last}) + "\n")
            for state, kind in sorted(found, key=lambda each: each[0].version):
                line = {
                    "kind": kind,
                    "version": state.version,
                    "at": state.at,
                    "gone": state.gone,
                    "body": state.body,
                }
                file.write(json.dumps(line) + "\n")

    def version_at(self, at: float) -> int:
        """The highest version that was seen until then; 0 before the first one."""
        place = bisect_right(self._times, (at, 1 << 62))
        return self._times[place - 1][1] if place else 0

    def of(self, kind: str, uid: str) -> list[State]:
        """The states of an object, in order; empty if it was never seen."""
        return self.states[kind].get(uid, [])

    def state(self, kind: str, uid: str, version: int) -> State | None:
        """The object as it was at a version; None before it was created."""
        states = self.of(kind, uid)
        place = bisect_right(states, version, key=lambda state: state.version)
        return states[place - 1] if place else None

    def between(self, kind: str, uid: str, first: int, last: int) -> list[State]:
        """Every state that the object had at some version from `first` to `last`."""
        start = self.state(kind, uid, first)
        return [state for state in self.of(kind, uid) if state is start or first < state.version <= last]

    def has_gap(self, first: float, last: float) -> bool:
        """Whether something may have happened between two versions that nobody saw."""
        return any(gap.first < last and first < gap.last for gap in self.gaps)

    def knows(self, kind: str, uid: str, first: float, last: float) -> bool:
        """Whether all states of the object between two versions are known: no gap is there, or it has not changed."""
        return all(
            self.state(kind, uid, gap.first) is self.state(kind, uid, gap.last)
            for gap in self.gaps
            if gap.kind == kind and gap.first < last and first < gap.last
        )

    def existing(self, kind: str, version: int) -> Iterator[State]:
        """All objects of a kind as they were at a version."""
        for uid in self.states[kind]:
            state = self.state(kind, uid, version)
            if state is not None and not state.gone:
                yield state

    def group_of(self, pod: Json, version: int) -> Json | None:
        """The PodGroup that a pod's label named at a version."""
        name = (pod["metadata"].get("labels") or {}).get(GROUP_LABEL)
        for state in self.existing("PodGroup", version) if name else ():
            meta = state.body["metadata"]
            if (meta["namespace"], meta["name"]) == (pod["metadata"]["namespace"], name):
                return state.body
        return None

    def members(self, group: Json, version: int) -> list[Json]:
        """The pods whose label named a PodGroup at a version."""
        meta = group["metadata"]
        return [
            state.body
            for state in self.existing("Pod", version)
            if state.body["metadata"]["namespace"] == meta["namespace"]
            and (state.body["metadata"].get("labels") or {}).get(GROUP_LABEL) == meta["name"]
        ]

    def ended(self, uid: str) -> int | None:
        """The version at which a pod began to terminate or was gone; None if it is alive."""
        return next((state.version for state in self.of("Pod", uid) if not is_alive(state)), None)

    def group_priority(self, group: Json) -> int:
        """The priority of a PodGroup; that of its class if it says none, else 0."""
        spec = group["spec"]
        if spec.get("priority") is not None:
            return int(spec["priority"])
        classes = (states[-1].body for states in self.states["PriorityClass"].values())
        values = {each["metadata"]["name"]: int(each["value"]) for each in classes}
        return values.get(spec.get("priorityClassName", ""), 0)


def is_alive(state: State) -> bool:
    """Whether the object exists and does not terminate."""
    return not state.gone and not state.body["metadata"].get("deletionTimestamp")


def has_ended(pod: Json) -> bool:
    """Whether the pod has Succeeded or Failed. It holds no room any longer."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def is_bound(pod: Json) -> bool:
    """Whether the pod has a node and does not terminate."""
    return bool(pod["spec"].get("nodeName")) and not pod["metadata"].get("deletionTimestamp")


def victim_pods(plan: Json) -> Iterator[Json]:
    """The pods that a plan evicts."""
    for victim in plan["spec"].get("victims") or ():
        yield from victim["pods"]


def name_of(body: Json) -> str:
    """NAMESPACE/NAME of an object."""
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def asked_deletions(lines: Iterable[str], user: str) -> list[Asked]:
    """The pods whose deletion a user asked for and got, from an audit log with the requests; without dry runs."""
    found = []
    for line in lines:
        if user not in line or '"verb":"delete"' not in line:
            continue
        event = json.loads(line)
        reference, options = event["objectRef"], event.get("requestObject") or {}
        ours = event["user"]["username"] == user and reference["resource"] == "pods"
        granted = event.get("responseStatus", {}).get("code") in (200, 202)
        if ours and granted and not options.get("dryRun"):
            found.append(
                Asked(
                    str((options.get("preconditions") or {}).get("uid", "")),
                    reference["namespace"],
                    reference["name"],
                    _seconds(event["requestReceivedTimestamp"]),
                    _seconds(event["stageTimestamp"]),
                    str((options.get("preconditions") or {}).get("resourceVersion", "")),
                )
            )
    return found


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
