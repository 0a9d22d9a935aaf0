"""The decisions for all that waits, each as if it were the only one. Those that must be alike share one search.

A search on a large cluster takes up to a quarter of a second if it cannot prove that its plan is the best. Gangs of one
kind, or the pods of several Deployments, often ask the same of the same snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from api.plans import PreemptionPlanSpec
from api.progress import Progress, going_through, silent
from nodes.answers.asking import decide_for
from nodes.answers.group_counts import GroupCounts
from nodes.filters.registry import COUNTING_FILTERS, POD_FILTERS
from nodes.groups.keys import short_name
from nodes.search.decision import USUAL
from nodes.search.preemptors.gangs import minimum_of
from nodes.search.preemptors.preemptor import DecisionError, Preemptor, group_preemptor, preemptor_of_pod
from nodes.state.columns.flags import GATED, NEVER, TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = ["Asked", "Searches", "gangs_that_wait", "waiting"]

Key = tuple[object, ...]

PROVING: Final = replace(USUAL, proves=True)
"""No answer here says how much work a search took. So it may end once its plan is proven to be the best."""


class Asked(NamedTuple):
    """A gang that waits, or pods that only their names tell apart, and the decision."""

    kind: str
    names: list[str]
    """NAMESPACE/NAME of each, in order."""
    decided: PreemptionPlanSpec | str
    """The decision, or why there is none. It may be that for others that are alike, with their names."""


def waiting(snapshot: Snapshot, progress: Progress = silent) -> Iterator[Asked]:
    """Everything that waits, the gangs first."""
    groups, alone = _that_wait(snapshot)
    searches, counts = Searches(snapshot), GroupCounts(snapshot)
    for group in going_through(groups, "looking at gangs", progress):
        if _lacks_members(counts, group):
            yield searches.gang(group)
    for pods in going_through(searches.alike(alone), "looking at kinds of pods", progress):
        yield searches.pods(pods)


def gangs_that_wait(snapshot: Snapshot, counts: GroupCounts | None = None) -> list[int]:
    """Rows of the gangs that have a member without a node, and fewer members with one than they must have."""
    counts = counts or GroupCounts(snapshot)
    return [group for group in _that_wait(snapshot)[0] if _lacks_members(counts, group)]


def _that_wait(snapshot: Snapshot) -> tuple[list[int], list[int]]:
    """Rows of gangs with members that have no node, and rows of such pods that belong to no gang."""
    rows = snapshot.pod_live & (snapshot.pod_node < 0) & (snapshot.pod_flags & (TERMINATING | GATED) == 0)
    alone, groups = list[int](), dict[int, None]()
    for row in np.flatnonzero(rows).tolist():
        group = int(snapshot.pod_group[row])
        if _is_gang(snapshot, group):
            groups[group] = None
        else:
            alone.append(row)
    return list(groups), alone


def _is_gang(snapshot: Snapshot, group: int) -> bool:
    known = snapshot.groups[group] if group >= 0 else None
    return known is not None and known.spec.scheduling_policy.gang is not None


def _lacks_members(counts: GroupCounts, group: int) -> bool:
    """Whether fewer members of the gang in this row have a node than must have one."""
    known, found = counts.snapshot.groups[group], counts.of(group)
    succeeded = counts.snapshot.group_succeeded[group]
    least = minimum_of(known, found.exist, succeeded) if known is not None else 0
    return found.bound < (least or 0)


class Searches:
    """The searches on one snapshot, by what decides about their result."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.made = 0
        """How many there were."""
        self._done: dict[Key, PreemptionPlanSpec] = {}
        self._promised = {uid for plan in snapshot.plans for uid in plan.nodes}
        self._planned = {(plan.namespace, plan.name) for plan in snapshot.plans if plan.kind == "PodGroup"}
        self._look_at_labels = _look_at_labels(snapshot)

    def alike(self, rows: Iterable[int]) -> list[list[int]]:
        """Rows of pods that only their names tell apart. One to which room is promised is like no other."""
        found: dict[Key, list[int]] = {}
        for row in rows:
            labels = int(self._snapshot.pod_labels[row])
            found.setdefault((labels, *self._of_pod(row)), []).append(row)
        return list(found.values())

    def pods(self, rows: list[int]) -> Asked:
        """The decision for these pods, which are alike."""
        snapshot = self._snapshot
        named = sorted((f"{snapshot.pod_namespaces[each]}/{snapshot.pod_names[each]}", each) for each in rows)
        names, row = [name for name, _ in named], named[0][1]
        by_labels = self._look_at_labels or snapshot.pod_group[row] >= 0
        where = int(snapshot.pod_labels[row]) if by_labels else snapshot.pod_namespaces[row]
        return self._asked(
            "Pod",
            names,
            ("Pod", where, *self._of_pod(row)),
            partial(preemptor_of_pod, snapshot, row),
        )

    def gang(self, group: int) -> Asked:
        """The decision for a gang."""
        namespace, name = self._snapshot.group_keys[group]
        names = [f"{namespace}/{short_name(name)}"]
        try:
            preemptor = group_preemptor(self._snapshot, namespace, name)
        except DecisionError as error:
            return Asked("PodGroup", names, f"It cannot be planned: {error}.")
        return self._asked("PodGroup", names, self._of_gang(preemptor), lambda: preemptor)

    def _asked(self, kind: str, names: list[str], key: Key, make: Callable[[], Preemptor]) -> Asked:
        if (known := self._done.get(key)) is not None:
            return Asked(kind, names, known)
        self.made += 1
        try:
            decided = self._done[key] = decide_for(self._snapshot, make(), limits=PROVING)
        except DecisionError as error:
            return Asked(kind, names, f"It cannot be planned: {error}.")
        return Asked(kind, names, decided)

    def _of_pod(self, row: int) -> Key:
        """What decides about a pod alone, its namespace and labels aside."""
        snapshot = self._snapshot
        alone = row in snapshot.pod_claims or self._is_promised(row)
        return (
            int(snapshot.pod_class[row]),
            int(snapshot.pod_group[row]),
            int(snapshot.pod_priority[row]),
            int(snapshot.pod_scheduler[row]),
            int(snapshot.pod_flags[row]) & NEVER,
            row if alone else -1,
        )

    def _of_gang(self, preemptor: Preemptor) -> Key:
        """What decides about a gang. It is like no other if its labels, its volumes or room of its own count."""
        snapshot, rows = self._snapshot, preemptor.unbound
        pods = int((snapshot.pod_live & (snapshot.pod_group == preemptor.group)).sum())
        alone = (
            self._look_at_labels
            or preemptor.mismatch is not None  # it names a pod
            or not pods == len(rows) == preemptor.needed
            or any(row in snapshot.pod_claims or self._is_promised(row) for row in rows)
            or (preemptor.namespace, preemptor.name) in self._planned
        )
        return (
            preemptor.kind,
            preemptor.namespace,
            preemptor.group if alone else -1,
            preemptor.api_version,
            preemptor.priority,
            preemptor.evicts,
            preemptor.policy,
            preemptor.topology_key,
            preemptor.budgets,
            *((int(snapshot.pod_class[row]), int(snapshot.pod_priority[row])) for row in rows),
        )

    def _is_promised(self, row: int) -> bool:
        return row in self._snapshot.nominated or self._snapshot.pod_uids[row] in self._promised


def _look_at_labels(snapshot: Snapshot) -> bool:
    """Whether a filter may look at the labels of pods that wait: some pod keeps others away, wants or counts them."""
    places = [place for place, _ in (*POD_FILTERS, *COUNTING_FILTERS)]
    rows = set(snapshot.pod_class[snapshot.pod_live].tolist())
    classes = (each for row in rows if (each := snapshot.classes[row]) is not None)
    return any(each.needs[place] is not None for each in classes for place in places)
