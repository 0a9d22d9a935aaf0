"""The state before a scheduler began to place a group: a snapshot in which members wait again, and victims stay.

A group is decided about once it is complete. On a full cluster its scheduler has evicted pods for the first members by
then. What Enforce would have found is the state without that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nodes.filters.profile import DEFAULT_PROFILE
from nodes.search.preemptors.more_rows import longer, with_classes, with_resources
from nodes.state.columns.flags import STAYING, TERMINATING, UNSELECTED, UNSTARTED, Int32s
from nodes.state.columns.shared import copied
from nodes.state.kept import KeptPod
from nodes.state.snapshot import Snapshot

__all__ = ["NotPutBackError", "put_back", "with_gone"]

Rows = NDArray[np.intp]


class NotPutBackError(Exception):
    """The state before is not known any longer. The message says why, as a part of a sentence."""


def put_back(snapshot: Snapshot, members: Collection[str], victims: Collection[str]) -> Snapshot:
    """The snapshot in which these bound pods (UIDs of `members`) wait, and these terminating pods (`victims`) run.

    Raises NotPutBackError if a victim has gone already, if it counts against a budget, which may allow another number
    of disruptions since, or if a member's binding has changed more than its node.
    """
    bound, evicted = _rows(snapshot, members), _rows(snapshot, victims)
    for row in bound:
        _check_member(snapshot, row)
    for row in evicted:
        _check_victim(snapshot, row)
    nodes, used, leaving = snapshot.pod_node.copy(), snapshot.used.copy(), snapshot.leaving.copy()
    flags, start = snapshot.pod_flags.copy(), snapshot.pod_start.copy()
    requests = snapshot.class_requests[snapshot.pod_class]
    np.subtract.at(used, nodes[bound], requests[bound])
    np.subtract.at(leaving, nodes[evicted], requests[evicted])
    nodes[bound] = -1
    start[bound] = snapshot.pod_created[bound]
    flags[bound] &= ~np.uint8(UNSTARTED)
    flags[evicted] &= ~np.uint8(TERMINATING)
    return replace(snapshot, pod_node=nodes, used=used, leaving=leaving, pod_flags=flags, pod_start=start)


def with_gone(snapshot: Snapshot, pods: Collection[KeptPod]) -> Snapshot:
    """The snapshot in which these pods run, which are not in it any longer.

    Raises NotPutBackError if the node of one of them is gone, or its group, or if it may count against a budget.
    """
    if not pods:
        return snapshot
    gone = sorted(pods, key=_full_name)
    nodes = _nodes_of(snapshot, gone)
    groups = _groups_of(snapshot, gone)
    _check_budgets(snapshot, gone)
    classes = [each.pod_class for each in gone]
    snapshot = with_resources(snapshot, classes)
    class_rows, snapshot = with_classes(snapshot, classes)
    used = snapshot.used.copy()
    np.add.at(used, nodes, snapshot.class_requests[class_rows])
    first, added = len(snapshot.pod_live), len(gone)
    label_rows = range(len(snapshot.label_sets), len(snapshot.label_sets) + added)
    schedulers = range(len(snapshot.schedulers), len(snapshot.schedulers) + added)
    rows = range(first, first + added)
    return replace(
        snapshot,
        used=used,
        pod_live=longer(added, snapshot.pod_live, True),
        pod_namespaces=snapshot.pod_namespaces.extended(each.namespace for each in gone),
        pod_names=snapshot.pod_names.extended(each.name for each in gone),
        pod_uids=snapshot.pod_uids.extended(each.uid for each in gone),
        pod_name_rank=_ranks(snapshot, gone),
        pod_rows=copied(snapshot.pod_rows) | {each.uid: row for each, row in zip(gone, rows, strict=True)},
        pod_node=longer(added, snapshot.pod_node, nodes),
        pod_class=longer(added, snapshot.pod_class, class_rows),
        pod_group=longer(added, snapshot.pod_group, groups),
        pod_labels=longer(added, snapshot.pod_labels, label_rows),
        pod_priority=longer(added, snapshot.pod_priority, [each.priority for each in gone]),
        pod_scheduler=longer(added, snapshot.pod_scheduler, schedulers),
        pod_start=longer(added, snapshot.pod_start, [each.start for each in gone]),
        pod_created=longer(added, snapshot.pod_created, [each.created for each in gone]),
        pod_cost=longer(added, snapshot.pod_cost, [each.cost for each in gone]),
        pod_flags=longer(added, snapshot.pod_flags, [each.flags for each in gone]),
        pod_health=longer(added, snapshot.pod_health, [each.health for each in gone]),
        schedulers=[*snapshot.schedulers, *(each.scheduler for each in gone)],
        label_sets=[*snapshot.label_sets, *((each.namespace, each.labels) for each in gone)],
        label_budgets=[*snapshot.label_budgets, *[()] * added],
        label_budget=longer(added, snapshot.label_budget, UNSELECTED),
        pod_claims={
            **snapshot.pod_claims,
            **{row: each.claims for each, row in zip(gone, rows, strict=True) if each.claims},
        },
    )


def _nodes_of(snapshot: Snapshot, gone: Sequence[KeptPod]) -> list[int]:
    live = {snapshot.node_names[row]: row for row in snapshot.node_order.tolist()}
    if missing := next((each for each in gone if each.node not in live), None):
        raise NotPutBackError(f"{_was_preempted(missing)}, and its node is gone")
    return [live[each.node] for each in gone]


def _groups_of(snapshot: Snapshot, gone: Sequence[KeptPod]) -> list[int]:
    rows = {key: row for row, key in enumerate(snapshot.group_keys)}
    if missing := next((each for each in gone if each.group is not None and each.group not in rows), None):
        raise NotPutBackError(f"{_was_preempted(missing)}, and its group is gone")
    return [rows[each.group] if each.group is not None else -1 for each in gone]


def _check_budgets(snapshot: Snapshot, gone: Sequence[KeptPod]) -> None:
    """Labels that no pod has any longer are not compared with budgets: any one of the namespace may have counted."""
    budgets = {each.namespace for each in snapshot.budgets if each is not None}
    known = dict[tuple[str, frozenset[tuple[str, str]]], int]()
    for place, labels in enumerate(snapshot.label_sets):
        if labels is not None and labels[0] in budgets:
            known[labels[0], frozenset(labels[1].items())] = place
    for each in gone:
        if each.namespace not in budgets:
            continue
        row = known.get((each.namespace, frozenset(each.labels.items())))
        if row is None or snapshot.label_budget[row] != UNSELECTED:
            raise NotPutBackError(f"{_was_preempted(each)}, and counts against a budget")


def _ranks(snapshot: Snapshot, gone: Sequence[KeptPod]) -> Int32s:
    """[P], with those that are gone in their places. They are in order."""
    live = np.flatnonzero(snapshot.pod_live)
    order = live[np.argsort(snapshot.pod_name_rank[live])].tolist()
    names = snapshot.pod_namespaces, snapshot.pod_names
    places = [
        bisect_left(order, _full_name(each), key=lambda row: (names[0][row], names[1][row])) for each in gone
    ]
    ranks = snapshot.pod_name_rank + np.searchsorted(places, snapshot.pod_name_rank, side="right")
    return np.concatenate([ranks, np.array(places) + np.arange(len(gone))]).astype(np.int32)


def _full_name(pod: KeptPod) -> tuple[str, str]:
    return pod.namespace, pod.name


def _was_preempted(pod: KeptPod) -> str:
    return f"pod {pod.namespace}/{pod.name} was preempted"


def _rows(snapshot: Snapshot, pods: Collection[str]) -> Rows:
    gone = sorted(uid for uid in pods if uid not in snapshot.pod_rows)
    if gone:
        raise NotPutBackError(f"pod {gone[0]} is gone")
    return np.array(sorted(snapshot.pod_rows[uid] for uid in pods), np.intp)


def _check_member(snapshot: Snapshot, row: int) -> None:
    if row in snapshot.pod_claims:
        raise NotPutBackError(f"pod {_name(snapshot, row)} was bound, and so were its volumes")
    scheduler = snapshot.schedulers[snapshot.pod_scheduler[row]]
    profile, its_class = (
        snapshot.profiles.get(scheduler, DEFAULT_PROFILE),
        snapshot.classes[snapshot.pod_class[row]],
    )
    if its_class is None or any(profile.ignores(name) for name in its_class.requests):
        raise NotPutBackError(
            f"pod {_name(snapshot, row)} was bound, and requests what its scheduler ignores"
        )


def _check_victim(snapshot: Snapshot, row: int) -> None:
    if snapshot.pod_flags[row] & STAYING:
        raise NotPutBackError(f"pod {_name(snapshot, row)} was preempted, and should be gone")
    if snapshot.label_budget[snapshot.pod_labels[row]] != UNSELECTED:
        raise NotPutBackError(f"pod {_name(snapshot, row)} was preempted, and counts against a budget")


def _name(snapshot: Snapshot, row: int) -> str:
    return f"{snapshot.pod_namespaces[row]}/{snapshot.pod_names[row]}"
