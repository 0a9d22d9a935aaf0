"""What would happen if pods were submitted: which of them get nodes, which units are evicted for them,
and what becomes of those.

One level deep: each victim is looked at alone, in the room that is left when the preemptor runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from api.groups import PodGroup
from api.plans import PreemptionPlanSpec, Victim
from api.words import counted
from nodes.answers.asking import decide_for
from nodes.answers.plan_words import Readable, said_of, unit_text, victims_of, whole
from nodes.answers.verdicts import doubts
from nodes.filters.registry import STRICTER
from nodes.groups.forms import by_its_pods
from nodes.groups.keys import is_foreign
from nodes.search.preemptors.gangs import minimum_of
from nodes.search.preemptors.preemptor import DecisionError, Preemptor, group_preemptor, pod_preemptor
from nodes.search.preemptors.supposed import Supposed, SupposedPods, WorkloadName, priorities_of, supposed
from nodes.search.unmodelled import why_blocked
from nodes.state.columns.flags import GATED, NEVER, TERMINATING
from nodes.state.columns.paged import Pages
from nodes.state.columns.shared import copied
from nodes.state.snapshot import Snapshot

__all__ = ["Consequence", "Tried", "consequences", "submit", "without_pods"]

LOOKED_AT: Final = 30
"""Victims that are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What becomes of pods that were submitted together."""

    spec: PreemptionPlanSpec
    """The decision for those that get a node; if none does, why."""
    pods: int
    running: int
    """How many of them get a node."""
    why_not: str
    """Why the others get none; empty if all do."""
    after: Snapshot
    """With them on their nodes, and with their victims waiting again."""
    doubts: tuple[str, ...] = ()
    """Names of what is not modelled and could make all of this wrong."""


@dataclass(frozen=True, slots=True)
class Consequence:
    """What becomes of one victim."""

    unit: str
    fits: bool | None
    """Whether it gets a node again, with or without evictions; None if that is not known."""
    sentence: str
    would_evict: tuple[str, ...] = ()


def submit(
    snapshot: Snapshot,
    name: WorkloadName,
    sets: Sequence[SupposedPods],
    gang: PodGroup | None,
    readable: Readable = whole,
) -> Tried:
    """Try pods that do not exist yet. `gang`: their PodGroup, if it is a gang: then too few of them are none.
    `readable`: a decision as the reader may know it. `Tried.spec` is whole all the same.

    Without one, as many as possible get nodes, in the order of `sets`. Raises DecisionError and ValueError as
    `supposed` does.
    """
    asked = supposed(snapshot, name, sets)
    preemptor = asked.preemptor if gang is None else _as_gang(asked, gang)
    if gang is not None and by_its_pods(gang) and len(priorities_of(snapshot, name, sets)) > 1:
        preemptor = replace(preemptor, evicts=False)
    new = asked.preemptor.unbound
    all_of_them = decide_for(asked.snapshot, preemptor)
    best, why_not, read = all_of_them, "", readable(all_of_them)
    if not _runs(all_of_them):
        why_not = why_blocked(read) or read.reason
        best = (_most(asked.snapshot, preemptor) if gang is None else None) or all_of_them
    after = _after(asked.snapshot, preemptor, best) if _runs(best) else asked.snapshot
    running = int((after.pod_node[list(new)] >= 0).sum())
    if running < len(new) and not why_not:
        why_not = "they are beyond minCount and have no room; nothing is evicted for them"
    known = {*doubts(readable(best)), *doubts(read), *_of_later(asked.snapshot, preemptor, best)}
    return Tried(best, len(new), running, why_not, after, tuple(sorted(known)))


def without_pods(snapshot: Snapshot, uids: Sequence[str]) -> Snapshot:
    """The snapshot in which these pods are gone, and their room is free."""
    rows = [row for uid in uids if (row := snapshot.pod_rows.get(uid)) is not None]
    live = snapshot.pod_live.copy()
    live[rows] = False
    return replace(_unbound(snapshot, rows), pod_live=live)


def consequences(
    after: Snapshot, spec: PreemptionPlanSpec, returns: Callable[[str], bool], readable: Readable = whole
) -> list[Consequence]:
    """What becomes of the plan's victims. `returns`: whether the pod (UID) is created again. `readable`: see `submit`.

    Nothing is said of a victim whose name the reader may not know.
    """
    named = zip(spec.victims, readable(spec).victims, strict=True)
    known = [victim for victim, read in named if read.name]
    found = [_of_victim(after, each, returns, readable) for each in known[:LOOKED_AT]]
    if (more := len(known) - LOOKED_AT) > 0:
        found.append(Consequence(f"{counted(more, 'more unit')}", False, "They were not looked at."))
    return found


# ---- who runs


def _of_later(snapshot: Snapshot, preemptor: Preemptor, spec: PreemptionPlanSpec) -> set[str]:
    """What is not modelled of the members beyond minCount that get a node: the plan names what the others use."""
    if not _runs(spec):
        return set()
    names = {(each.pod, each.uid) for each in spec.placements if each.beyond_min_count}
    rows = (row for row in preemptor.unbound if (snapshot.pod_names[row], snapshot.pod_uids[row]) in names)
    classes = {int(snapshot.pod_class[row]) for row in rows}
    return {name for row in classes if (each := snapshot.classes[row]) for name in each.unmodelled} - STRICTER


def _runs(spec: PreemptionPlanSpec) -> bool:
    return bool(spec.placements) and not why_blocked(spec)


def _as_gang(asked: Supposed, gang: PodGroup) -> Preemptor:
    """The gang, with the members that exist already."""
    snapshot, new = asked.snapshot, asked.preemptor
    members, succeeded = [*new.unbound], 0
    if new.group >= 0:  # a group of its owner that has no pods yet is not in the snapshot
        flags = snapshot.pod_flags & (TERMINATING | GATED) == 0
        members = np.flatnonzero(snapshot.pod_live & (snapshot.pod_group == new.group) & flags).tolist()
        succeeded = snapshot.group_succeeded[new.group]
    old = sorted(set(members) - set(new.unbound), key=lambda row: int(snapshot.pod_created[row]))
    minimum = minimum_of(gang, len(members), succeeded) or 0
    return replace(
        new,
        kind="PodGroup",
        api_version=gang.api_version,
        name=gang.metadata.name,
        uid=gang.metadata.uid,
        minimum=minimum,
        bound=tuple(row for row in old if snapshot.pod_node[row] >= 0),
        unbound=(*(row for row in old if snapshot.pod_node[row] < 0), *new.unbound),
    )


def _most(snapshot: Snapshot, preemptor: Preemptor) -> PreemptionPlanSpec | None:
    """The decision for the largest number of the first pods that get nodes together; None if none does."""
    low, high, best = 0, len(preemptor.unbound) - 1, None
    while low < high:
        middle = (low + high + 1) // 2
        found = decide_for(snapshot, replace(preemptor, unbound=preemptor.unbound[:middle], minimum=middle))
        if _runs(found):
            low, best = middle, found
        else:
            high = middle - 1
    return best


# ---- afterwards


def _after(snapshot: Snapshot, preemptor: Preemptor, spec: PreemptionPlanSpec) -> Snapshot:
    """With the placements, and with the victims' pods waiting."""
    gone = [
        row for v in spec.victims for pod in v.pods if (row := snapshot.pod_rows.get(pod.uid)) is not None
    ]
    snapshot = _unbound(snapshot, gone)
    rows = {(snapshot.pod_names[row], snapshot.pod_uids[row]): row for row in preemptor.unbound}
    nodes = {name: row for row, name in enumerate(snapshot.node_names) if snapshot.node_live[row]}
    placed = [(rows[each.pod, each.uid], nodes[each.node]) for each in spec.placements]
    where, used = snapshot.pod_node.copy(), snapshot.used.copy()
    for row, node in placed:
        where[row] = node
        used[node] += snapshot.class_requests[snapshot.pod_class[row]]
    return _real(replace(snapshot, pod_node=where, used=used))


def _real(snapshot: Snapshot) -> Snapshot:
    """Supposed pods become like others: they have UIDs, and a place in the order of names, behind all others."""
    uids, known = [*snapshot.pod_uids], copied(snapshot.pod_rows)
    added = range(len(snapshot.pod_name_rank), len(uids))
    for row in (row for row in added if not uids[row] and snapshot.pod_live[row]):
        uids[row] = f"submitted/{snapshot.pod_namespaces[row]}/{snapshot.pod_names[row]}"
        known[uids[row]] = row
    first = int(snapshot.pod_name_rank.max(initial=-1)) + 1
    more = len(snapshot.pod_live) - len(snapshot.pod_name_rank)
    ranks = np.arange(first, first + more, dtype=snapshot.pod_name_rank.dtype)
    rank = np.concatenate([snapshot.pod_name_rank, ranks])
    return replace(snapshot, pod_uids=Pages[str]().extended(uids), pod_rows=known, pod_name_rank=rank)


def _unbound(snapshot: Snapshot, rows: Sequence[int]) -> Snapshot:
    """These pods have no node any longer."""
    where, used, leaving = snapshot.pod_node.copy(), snapshot.used.copy(), snapshot.leaving.copy()
    for row in rows:
        if (node := int(where[row])) >= 0:
            requests = snapshot.class_requests[snapshot.pod_class[row]]
            used[node] -= requests
            leaving[node] -= requests * bool(snapshot.pod_flags[row] & TERMINATING)
            where[row] = -1
    return replace(snapshot, pod_node=where, used=used, leaving=leaving)


# ---- the victims


def _of_victim(
    after: Snapshot, victim: Victim, returns: Callable[[str], bool], readable: Readable
) -> Consequence:
    unit = unit_text(victim)
    if not any(returns(pod.uid) for pod in victim.pods):
        return Consequence(unit, False, "It is gone for good: it is not created again.")
    try:
        spec = decide_for(after, _asking_again(after, victim))
    except DecisionError as error:
        return Consequence(unit, False, f"It cannot be planned again: {error}.")
    read = readable(spec)
    return Consequence(unit, None if doubts(spec) else _runs(spec), said_of(read), victims_of(read))


def _asking_again(after: Snapshot, victim: Victim) -> Preemptor:
    if victim.kind == "PodGroup" and not is_foreign(victim.name):
        return group_preemptor(after, victim.namespace, victim.name)
    rows = tuple(row for pod in victim.pods if (row := after.pod_rows.get(pod.uid)) is not None)
    first = after.pod_names[rows[0]]
    if len(rows) == 1:
        return pod_preemptor(after, victim.namespace, first)
    return Preemptor(
        kind="PodGroup",
        api_version="v1",
        namespace=victim.namespace,
        name=victim.name,
        uid=victim.uid,
        priority=victim.priority,
        evicts=not any(int(after.pod_flags[row]) & NEVER for row in rows),
        mismatch=None,
        group=int(after.pod_group[rows[0]]),
        policy="gang",
        minimum=len(rows),
        topology_key=None,
        bound=(),
        unbound=rows,
    )
