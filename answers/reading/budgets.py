"""Counts for PodDisruptionBudgets whose status does not say what their controller would: changed or never counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from answers.reading.documents import Kind
from api.core import Pod, PodDisruptionBudget, PodDisruptionBudgetStatus
from api.foreign_owners import (
    OwningStatefulSet,
    Scalable,
    ScaledDeployment,
    ScaledReplicaSet,
    ScaledReplicationController,
)
from api.meta import OwnerReference, controller_reference
from nodes.state.columns.flags import TERMINATING
from nodes.state.groups.allowances import SCALED, Allowance, BudgetedPod, Scales, allowance, is_counted
from nodes.state.groups.exempt import READY, health_of
from nodes.state.pods.pods import ENDED
from nodes.state.snapshot import Snapshot
from nodes.state.tables import Tables

__all__ = ["SCALED_KINDS", "Budgets", "as_changed"]

READ: Final[dict[str, type[Scalable]]] = {
    "ReplicaSet": ScaledReplicaSet,
    "Deployment": ScaledDeployment,
    "StatefulSet": OwningStatefulSet,
    "ReplicationController": ScaledReplicationController,
}
KIND_OF: Final = {struct: kind for kind, struct in READ.items()}
SCALED_KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    key: Kind(READ[kind], True) for key, kind in SCALED.items()
}
"""Owners that say how many pods there are to be."""
CHANGED: Final = -1
"""The observedGeneration of a budget that takes the place of a stored one: nobody has counted for it."""


def as_changed(thing: Any) -> Any:
    """The object as one that takes the place of a stored one, or is new: the status of a budget is not its own."""
    if not isinstance(thing, PodDisruptionBudget):
        return thing
    status = thing.status or PodDisruptionBudgetStatus()
    return replace(thing, status=replace(status, observed_generation=CHANGED))


def _written(budget: PodDisruptionBudget, found: Allowance) -> PodDisruptionBudgetStatus:
    """The status that the controller would write. If it cannot count pods, it changes only what is allowed."""
    before = budget.status or PodDisruptionBudgetStatus()
    if not found.counted and not found.unknown:
        return replace(before, disruptions_allowed=found.allowed)
    return replace(
        before,
        disruptions_allowed=found.allowed,
        current_healthy=found.healthy,
        desired_healthy=found.desired,
    )


class Budgets:
    """What is needed to count, from all objects that are read."""

    def __init__(self) -> None:
        self._uncounted: list[PodDisruptionBudget] = []
        self._scales = Scales()
        self._ended: list[tuple[str, Mapping[str, str], BudgetedPod]] = []
        """Pods that have ended, with namespace and labels. Only the controller counts them: the tables forget them."""

    def note(self, thing: Any) -> None:
        """Look at an object of any kind. The tables have it, too."""
        if isinstance(thing, Pod):
            if thing.status.phase in ENDED:
                meta = thing.metadata
                healthy = bool(health_of(thing.status) & READY) and meta.deletion_timestamp is None
                pod = BudgetedPod(meta.name, controller_reference(meta), healthy)
                self._ended.append((meta.namespace, meta.labels or {}, pod))
        elif isinstance(thing, PodDisruptionBudget):
            if not is_counted(thing):
                self._uncounted.append(thing)
        elif isinstance(thing, Scalable):
            self.note_owner(KIND_OF[type(thing)], thing)

    def note_owner(self, kind: str, item: Scalable) -> None:
        """Look at an owner that was read as another struct."""
        meta = item.metadata
        self._scales.add(kind, item, has_uid=meta.uid != f"{kind}/{meta.namespace}/{meta.name}")

    def count(self, tables: Tables) -> None:
        """Write into the tables what the controller would write. Call it after the last object was read."""
        if not self._uncounted:
            return
        snapshot = tables.snapshot()
        rows = {(row.namespace, row.name): at for at, row in enumerate(snapshot.budgets) if row is not None}
        for each in self._uncounted:
            at = rows[each.metadata.namespace, each.metadata.name]
            pods = [
                *self._running(tables, snapshot, at),
                *self._ended_of(tables, each.metadata.namespace, at),
            ]
            found = allowance(each, pods, self._scales)
            tables.budgets.upsert(replace(each, status=_written(each, found)), found.unknown)

    def _running(self, tables: Tables, snapshot: Snapshot, budget: int) -> Iterator[BudgetedPod]:
        """The pods of the tables that the budget in this row selects."""
        sets = [at for at, rows in enumerate(snapshot.label_budgets) if budget in rows]
        selected = snapshot.pod_live & np.isin(snapshot.pod_labels, np.array(sets, np.int32))
        known = tables.pods.controllers.keys
        for row in np.flatnonzero(selected).tolist():
            held = tables.pods.controller.array.item(row)
            its = known[held] if held >= 0 else None
            owner = (
                None
                if its is None
                else OwnerReference(
                    api_version=its.api_version, kind=its.kind, name=its.name, uid=its.uid, controller=True
                )
            )
            ready = bool(snapshot.pod_health[row] & READY)
            terminates = bool(snapshot.pod_flags[row] & TERMINATING)
            yield BudgetedPod(snapshot.pod_names[row], owner, ready and not terminates)

    def _ended_of(self, tables: Tables, namespace: str, budget: int) -> Sequence[BudgetedPod]:
        return [
            pod
            for where, labels, pod in self._ended
            if where == namespace and budget in tables.budgets.selecting(namespace, labels)
        ]
