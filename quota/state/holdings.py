"""The Workloads that hold quota, counted in one layout of the tree."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from api.workloads import QUOTA_RESERVED, Workload
from native.quota._quota import Ledger
from quota.state.amounts import QuotaError
from quota.state.ranks import Name, Ranks
from quota.state.remains import Remains
from quota.state.snapshot import Holder
from quota.state.tree import Layout
from quota.state.workloads import (
    effective_priority,
    holds_quota,
    is_evicting,
    key_of,
    queue_timestamp,
    reserved_at,
    subject_of,
    usage,
)

__all__ = ["Holdings", "holder_of"]


def holder_of(workload: Workload) -> Holder | None:
    """The quota that a Workload says it holds, without a rank; None if it holds nothing. Raises QuotaError."""
    if not holds_quota(workload):
        return None
    used = usage(workload)
    admission = workload.status.admission
    if admission is None:
        raise QuotaError(
            subject_of(workload), "status.admission", f"must be set while {QUOTA_RESERVED} is True"
        )
    return Holder(
        key=key_of(workload),
        workload=workload,
        queue=admission.cluster_queue,
        priority=effective_priority(workload),
        reserved=reserved_at(workload),
        queued=queue_timestamp(workload),
        order=0,
        evicting=is_evicting(workload),
        usage=used,
    )


class Holdings:
    """The ledger of a layout, with the holders of its ClusterQueues."""

    def __init__(self, layout: Layout, holders: Collection[Holder]) -> None:
        """Raises QuotaError if a holder holds more than can be counted."""
        self.layout = layout
        self.ledger = Ledger(layout.quotas)
        self._ranks = Ranks(_name(holder) for holder in holders)
        self._counted: dict[str, Holder] = {}
        for holder in holders:
            self._count(replace(holder, order=self._ranks[_name(holder)]))

    def admit(self, holder: Holder) -> bool:
        """Count a holder of a ClusterQueue of this layout. Returns False, and changes nothing, if a new layout is
        needed.

        Raises QuotaError, and changes nothing, if the holder holds more than can be counted.
        """
        if not holder.usage.keys() <= self.layout.frs.keys():
            return False
        order = self._ranks.add(_name(holder))
        if order is None:
            return False
        try:
            self._count(replace(holder, order=order))
        except QuotaError:
            self._ranks.remove(_name(holder))
            raise
        return True

    def release(self, key: str) -> None:
        """Stop counting the holder with this key. Does nothing if it was not counted."""
        holder = self._counted.pop(key, None)
        if holder is not None:
            node = self.layout.queues[holder.queue]
            self.ledger.release(node, holder.priority, holder.reserved, holder.order, holder.evicting)
            self._ranks.remove(_name(holder))

    def reserve(self, remains: Remains) -> bool:
        """Count what is left of a Workload. Nobody preempts it. Returns False, and changes nothing, if a new layout is
        needed."""
        usage = remains.usage or {}
        if not usage.keys() <= self.layout.frs.keys():
            return False
        self.ledger.reserve(*self._place(remains))
        return True

    def unreserve(self, remains: Remains) -> None:
        """Stop counting what `reserve` counted."""
        self.ledger.unreserve(*self._place(remains))

    def _place(self, remains: Remains) -> tuple[int, list[int], list[int]]:
        usage = remains.usage or {}
        node = self.layout.queues[remains.cluster_queue]
        return node, [self.layout.frs[fr] for fr in usage], list(usage.values())

    def _count(self, holder: Holder) -> None:
        try:
            self.ledger.admit(
                self.layout.queues[holder.queue],
                holder,
                holder.priority,
                holder.reserved,
                holder.queued,
                holder.order,
                holder.evicting,
                [self.layout.frs[fr] for fr in holder.usage],
                list(holder.usage.values()),
            )
        except OverflowError as error:
            flavor, resource = list(self.layout.frs)[error.args[0]]
            problem = f"{resource} in flavor {flavor} is too much: the sum with what others hold does not fit 64 bits"
            raise QuotaError(
                subject_of(holder.workload), "status.admission.podSetAssignments", problem
            ) from None
        self._counted[holder.key] = holder


def _name(holder: Holder) -> Name:
    """The name that gives the rank: the UID, then the key for UIDs that are missing or equal."""
    return holder.workload.metadata.uid, holder.key
