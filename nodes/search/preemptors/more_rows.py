"""A snapshot with more rows than the tables have: for pods that do not exist yet, and for those that are gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from api.requests import PODS
from nodes.state.columns.classes import PodClass
from nodes.state.columns.flags import Int64s
from nodes.state.snapshot import Snapshot

__all__ = ["longer", "with_classes", "with_resources"]


def longer(added: int, values: NDArray[Any], more: object) -> NDArray[Any]:
    """The column with this many rows more; `more`: their values, or the one that all of them have."""
    return np.concatenate([values, np.broadcast_to(np.asarray(more, values.dtype), (added,))])


def with_resources(snapshot: Snapshot, classes: Sequence[PodClass]) -> Snapshot:
    """The snapshot with a column for each resource that the classes request. A new one is on no node."""
    wanted = {name for each in classes for name in each.requests}
    new = sorted(wanted - set(snapshot.resources))
    if not new:
        return snapshot

    def wider(amounts: Int64s) -> Int64s:
        return np.concatenate([amounts, np.zeros((len(amounts), len(new)), np.int64)], axis=1)

    return replace(
        snapshot,
        resources=(*snapshot.resources, *new),
        allocatable=wider(snapshot.allocatable),
        used=wider(snapshot.used),
        leaving=wider(snapshot.leaving),
        class_requests=wider(snapshot.class_requests),
    )


def with_classes(snapshot: Snapshot, classes: Sequence[PodClass]) -> tuple[list[int], Snapshot]:
    """The rows of the classes, and the snapshot with those that are new."""
    known = {each.key: row for row, each in enumerate(snapshot.classes) if each is not None}
    rows, new = [], list[PodClass]()
    for each in classes:
        if each.key not in known:
            known[each.key] = len(snapshot.classes) + len(new)
            new.append(each)
        rows.append(known[each.key])
    amounts = [
        [1 if name == PODS else each.requests.get(name, 0) for name in snapshot.resources] for each in new
    ]
    requests = np.array(amounts, np.int64).reshape(len(new), len(snapshot.resources))
    return rows, replace(
        snapshot,
        classes=[*snapshot.classes, *new],
        class_requests=np.concatenate([snapshot.class_requests, requests]),
    )
