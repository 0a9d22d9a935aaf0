"""The state before a scheduler began to place a group: a snapshot in which members wait again, and victims stay.

A group is decided about once it is complete. On a full cluster its scheduler has evicted pods for the first members by
then. What Enforce would have found is the state without that.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nodes.filters.profile import DEFAULT_PROFILE
from nodes.state.columns.flags import STAYING, TERMINATING, UNSELECTED, UNSTARTED
from nodes.state.snapshot import Snapshot

__all__ = ["NotPutBackError", "put_back"]

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
