"""The list of everything that waits, with what statuses and stored plans say of it. Nothing is searched for it.

A row says what `answers.why` says of the same object, from the same functions, wherever that needs no search.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, Literal

import numpy as np

from answers.details import Details
from answers.dispatched import with_clusters
from answers.names import Listed, Names, right
from answers.native_gangs import since_of
from answers.picture import POD_GROUP, Picture
from answers.withholding import Reader
from api.core import Pod
from api.dispatch import DispatchPlan
from api.plans import PreemptionPlan
from api.waits import Wait
from api.workloads import ADMITTED, EVICTED, FINISHED, Workload
from nodes.answers.group_counts import GroupCounts
from nodes.answers.group_waits import why_group_waits
from nodes.answers.in_turn import rank
from nodes.answers.pod_answers import answer_for_pod
from nodes.answers.pod_waits import why_pod_waits
from nodes.answers.waiting import gangs_that_wait
from nodes.groups.forms import may_ask
from nodes.groups.keys import is_native_name, short_name
from nodes.groups.registry import GroupKey
from nodes.search.preemptors.preemptor import asks_with
from quota.answers.places import Places
from quota.answers.waits import Around, why_workload_waits
from quota.state.amounts import QuotaError
from quota.state.workloads import effective_priority, holds_quota, true_condition

__all__ = ["Row", "RowKind", "Waiting", "waiting"]

RowKind = Literal["podgroup", "pod", "workload"]
"""As `WhyKind`."""
BASIC: Final = "Basic"
"""The state of groups whose pods wait one by one."""
SHOWN: Final[tuple[Listed, ...]] = ("podgroups", "pods", "workloads", "preemptionplans")
LAST: Final = 2**63
"""In place of a place."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object that waits."""

    kind: RowKind
    namespace: str
    name: str
    place: int | None
    """Of a gang: its place in the order in which the planner looks at gangs, from 1. It is no promise: a gang behind it
    may fit where this one does not. Of a Workload: its place in its ClusterQueue. None if it has no place."""
    state: str
    sentence: str
    since: str
    priority: int | None
    """None if it is not known."""
    min_count: int | None
    """Of a gang."""
    members: int | None
    """Of a group: how many exist. Of a Workload: how many pods it asks for."""
    bound: int | None
    """Of a group: how many of these have a node."""
    plan: str
    """NAMESPACE/NAME of the stored plan that the row is about; empty without such a plan."""
    queue: str = ""
    """The LocalQueue of a Workload."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "place": self.place,
            "state": self.state,
            "sentence": self.sentence,
            "since": self.since,
            "priority": self.priority,
            "minCount": self.min_count,
            "members": self.members,
            "bound": self.bound,
            "plan": self.plan,
            "queue": self.queue,
        }


@dataclass(frozen=True, slots=True)
class Waiting:
    """All rows that the reader may see."""

    groups: Sequence[Row]
    """Those that have a place first, in its order, then the others by name."""
    pods: Sequence[Row]
    """Pods that wait alone, by name."""
    workloads: Sequence[Row]
    """By ClusterQueue and place, then the others by name."""
    missing: Sequence[str]
    """Rights that would show more."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "groups": [each.plain() for each in self.groups],
            "pods": [each.plain() for each in self.pods],
            "workloads": [each.plain() for each in self.workloads],
            "missing": list(self.missing),
        }


def waiting(
    picture: Picture,
    details: Callable[[str], Details],
    names: Names,
    namespaces: Collection[str] | None = None,
) -> Waiting:
    """Everything that waits in these namespaces; None: in all that the reader may see. `names`: what the reader may
    list. `details`: what a namespace has; of its pods at least those without a node.

    Raises InputError if nothing can be said of nodes.
    """
    listing = _Listing(picture, details, names, namespaces)
    groups = sorted(listing.groups(), key=lambda each: (each.place or LAST, each.namespace, each.name))
    pods = sorted(listing.pods(), key=lambda each: (each.namespace, each.name))
    return Waiting(groups, pods, _in_queues(listing.workloads()), listing.missing())


def _in_queues(rows: Iterable[tuple[str, Row]]) -> list[Row]:
    """By ClusterQueue and place. `rows`: with the name of the ClusterQueue, empty if it is not known."""
    ordered = sorted(
        rows, key=lambda each: (not each[0], each[0], each[1].place or LAST, each[1].namespace, each[1].name)
    )
    return [row for _, row in ordered]


class _Listing:
    """One reader's list. Each kind of rows is made once, the groups first."""

    def __init__(
        self,
        picture: Picture,
        details: Callable[[str], Details],
        names: Names,
        namespaces: Collection[str] | None,
    ) -> None:
        self._picture, self._names, self._namespaces = picture, names, namespaces
        self._details, self._reader = cache(details), Reader(names)
        self._whole, self._snapshot = self._reader.picture(picture), picture.nodes.snapshot
        self._counts = GroupCounts(self._snapshot)
        self._may = cache(self._lists)
        self._covered = set[GroupKey]()
        """Groups that wait, and whose pods wait as a whole."""

    def _lists(self, what: Listed, namespace: str) -> bool:
        is_asked = self._namespaces is None or namespace in self._namespaces
        return is_asked and self._names.lists(what, namespace)

    def missing(self) -> list[str]:
        """Rights that would show more."""
        found = dict.fromkeys(self._reader.missing)
        for what in SHOWN:
            if self._namespaces is None and not self._names.lists(what):
                found[right(what)] = None
            for namespace in self._namespaces or ():
                if not self._names.lists(what, namespace):
                    found[right(what, namespace)] = None
        return [*found]

    def _plans(self, details: Details, uids: Collection[str]) -> list[PreemptionPlan]:
        return details.plans.for_list(uids) if self._may("preemptionplans", details.namespace) else []

    # ---- groups

    def groups(self) -> Iterator[Row]:
        """Groups of every kind that wait, but those whose pods are scheduled one by one."""
        if POD_GROUP in self._picture.refused:
            return
        places = self._places()
        for row, key in enumerate(self._snapshot.group_keys):
            if not (self._may("pods", key[0]) and self._may("podgroups", key[0])):
                continue
            answer = self._group(row, key)
            if answer.waits and answer.state != BASIC:
                self._covered.add(key)
                yield self._group_row(row, key, answer, places.get(row))

    def _group(self, row: int, key: GroupKey) -> Wait:
        details, group = self._details(key[0]), self._snapshot.groups[row]
        uids = [group.metadata.uid] if group is not None else []
        answer = why_group_waits(
            self._snapshot,
            key,
            details.members(key),
            self._plans(details, uids),
            self._whole.without_nodes,
            self._reader.decision,
            self._counts,
            searches=False,
        )
        if answer.waits and is_native_name(key[1]):
            return replace(answer, since=since_of(answer, group))
        return answer

    def _group_row(self, row: int, key: GroupKey, answer: Wait, place: int | None) -> Row:
        numbers = answer.numbers
        return Row(
            kind="podgroup",
            namespace=key[0],
            name=short_name(key[1]),
            place=place,
            state=answer.state,
            sentence=answer.sentence,
            since=answer.since,
            priority=asks_with(self._snapshot, row, self._counts.pods(row)),
            min_count=_number(numbers, "minCount"),
            members=_number(numbers, "members"),
            bound=_number(numbers, "boundMembers"),
            plan=answer.plan,
        )

    def _places(self) -> Mapping[int, int]:
        """By row of the gang: its place in the planner's order, among the gangs of all namespaces."""
        gangs = [row for row in gangs_that_wait(self._snapshot, self._counts) if self._is_planned_for(row)]
        ordered = sorted(gangs, key=lambda row: rank(self._counts, row))
        return {row: place for place, row in enumerate(ordered, start=1)}

    def _is_planned_for(self, row: int) -> bool:
        return may_ask(self._snapshot.group_keys[row][1], self._snapshot.preempting)

    # ---- pods

    def pods(self) -> Iterator[Row]:
        """Pods that wait for themselves."""
        rows = self._snapshot.pod_live & (self._snapshot.pod_node < 0)
        namespaces = dict.fromkeys(self._snapshot.pod_namespaces.at(np.flatnonzero(rows).tolist()))
        for namespace in namespaces:
            if not self._may("pods", namespace):
                continue
            details = self._details(namespace)
            for pod in details.pods.values():
                if details.unit_of(pod) not in self._covered and why_pod_waits(pod).waits:
                    yield self._pod_row(details, pod)

    def _pod_row(self, details: Details, pod: Pod) -> Row:
        answer = answer_for_pod(
            self._snapshot,
            pod,
            self._plans(details, [pod.metadata.uid]),
            unread=self._whole.without_nodes,
            readable=self._reader.decision,
            searches=False,
        )
        return Row(
            kind="pod",
            namespace=details.namespace,
            name=pod.metadata.name,
            place=None,
            state=answer.state,
            sentence=answer.sentence,
            since=answer.since,
            priority=pod.spec.priority,
            min_count=None,
            members=None,
            bound=None,
            plan=answer.plan,
        )

    # ---- Workloads

    def workloads(self) -> Iterator[tuple[str, Row]]:
        """Workloads that wait for quota, or for what comes before their admission, with their ClusterQueue."""
        picture, turns = self._whole, dict[str, list[DispatchPlan]]()
        around = self._around()
        for turn in picture.worker_clusters.plans:
            turns.setdefault(turn.spec.workload.uid, []).append(turn)
        for workload in picture.quota.workloads.values():
            namespace = workload.metadata.namespace
            if not self._may("workloads", namespace) or _is_admitted(workload):
                continue
            uid = workload.metadata.uid
            plans = self._plans(self._details(namespace), [uid])
            answer = why_workload_waits(workload, replace(around, plans=plans))
            mine = turns.get(uid, []) if self._may("dispatchplans", namespace) else []
            clusters = replace(picture.worker_clusters, plans=mine)
            answer = with_clusters(answer, workload, picture.quota.checks, clusters, picture.moment)
            if answer.waits:
                yield str(answer.numbers.get("clusterQueue", "")), _workload_row(workload, answer)

    def _around(self) -> Around:
        picture = self._whole
        around = Around(
            picture.quota,
            picture.moment,
            namespaces=picture.namespaces,
            unread=picture.without_quota,
            told=self._reader.told,
            searches=False,
        )
        try:
            snapshot = picture.quota.snapshot()
        except QuotaError:  # each row says so
            return around
        return replace(around, known=snapshot, places=Places(snapshot, picture.quota.workloads.values()))


def _is_admitted(workload: Workload) -> bool:
    """Whether it has all of its quota, and keeps it, or has finished: nothing has to be looked up to know that."""
    if true_condition(workload, FINISHED) is not None:
        return True
    admitted = true_condition(workload, ADMITTED) is not None and holds_quota(workload)
    return admitted and true_condition(workload, EVICTED) is None and workload.spec.active


def _workload_row(workload: Workload, answer: Wait) -> Row:
    return Row(
        kind="workload",
        namespace=workload.metadata.namespace,
        name=workload.metadata.name,
        place=_number(answer.numbers, "position"),
        state=answer.state,
        sentence=answer.sentence,
        since=answer.since,
        priority=effective_priority(workload),
        min_count=None,
        members=sum(each.count for each in workload.spec.pod_sets),
        bound=None,
        plan=answer.plan,
        queue=workload.spec.queue_name,
    )


def _number(numbers: Mapping[str, int | str], name: str) -> int | None:
    value = numbers.get(name)
    return value if isinstance(value, int) else None
