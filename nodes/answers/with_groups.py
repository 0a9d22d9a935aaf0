"""A snapshot in which groups exist that nobody has created."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from api.groups import PodGroup
from nodes.groups.registry import GroupKey
from nodes.state.groups.group_columns import columns_of
from nodes.state.pods.pod_facts import whole_seconds
from nodes.state.snapshot import Snapshot

__all__ = ["with_groups"]


def with_groups(
    snapshot: Snapshot, forms: Sequence[PodGroup], succeeded: Mapping[GroupKey, Sequence[int]]
) -> Snapshot:
    """The snapshot with these groups, or with them in place of those of the same names.

    Pods that name a group belong to its row already, whether or not it exists. `succeeded`: when each member that
    Succeeded was created, in seconds since the epoch. Raises ValueError for an invalid time.
    """
    keys, groups, counts = [*snapshot.group_keys], [*snapshot.groups], [*snapshot.group_succeeded]
    rows = {key: row for row, key in enumerate(keys)}
    for form in forms:
        meta = form.metadata
        key = meta.namespace, meta.name
        row = rows.setdefault(key, len(keys))
        if row == len(keys):
            keys.append(key)
            groups.append(None)
            counts.append(0)
        since = whole_seconds(meta.creation_timestamp, "metadata.creationTimestamp", 0)
        groups[row] = form
        counts[row] = sum(created >= since for created in succeeded.get(key, ()))
    return replace(
        snapshot,
        version=snapshot.version + 1,
        group_keys=keys,
        groups=groups,
        group_succeeded=counts,
        group_columns=columns_of(keys, groups, snapshot.priority_classes, counts),
    )
