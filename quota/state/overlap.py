"""Usage within a cycle: take victims away for a test, and keep quota free for the workload that waits for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from native.codes import UNSET
from quota.state.snapshot import Holder, Queue, QuotaSnapshot

__all__ = ["Usage", "fits", "kept_free", "numbered", "preferring", "without"]

Usage = Mapping[tuple[str, str], int]
"""Amounts in canonical units, by flavor and resource."""


@contextmanager
def without(snapshot: QuotaSnapshot, holders: Iterable[Holder]) -> Iterator[None]:
    """Within this context these holders hold no quota. Afterwards the snapshot is as before. Name each holder only
    once."""
    ledger, gone = snapshot.ledger, list(holders)
    for each in gone:
        node = snapshot.queues[each.queue].node
        ledger.release(node, each.priority, each.reserved, each.order, each.evicting)
    try:
        yield
    finally:
        for each in gone:
            node, used = snapshot.queues[each.queue].node, numbered(snapshot, each.usage)
            key = each.priority, each.reserved, each.queued, each.order, each.evicting
            ledger.admit(node, each, *key, *used)


@contextmanager
def preferring(snapshot: QuotaSnapshot, keys: Collection[str]) -> Iterator[None]:
    """Within this context these holders (keys) are the first candidates of any search, as if they were on their way
    out. Afterwards the snapshot is as before. Keys of others do no harm."""
    ledger = snapshot.ledger
    found = [
        (queue.node, holder)
        for queue in (snapshot.queues.values() if keys else ())
        for holder in ledger.holders(queue.node)
        if isinstance(holder, Holder) and holder.key in keys and not holder.evicting
    ]
    for node, each in found:
        _readmit(snapshot, node, each, before=False, after=True)
    try:
        yield
    finally:
        for node, each in found:
            _readmit(snapshot, node, each, before=True, after=False)


def _readmit(snapshot: QuotaSnapshot, node: int, holder: Holder, *, before: bool, after: bool) -> None:
    """Change what the ledger has as `evicting`."""
    used = numbered(snapshot, holder.usage)
    snapshot.ledger.release(node, holder.priority, holder.reserved, holder.order, before)
    snapshot.ledger.admit(
        node, holder, holder.priority, holder.reserved, holder.queued, holder.order, after, *used
    )


def fits(snapshot: QuotaSnapshot, queue: Queue, usage: Usage) -> bool:
    """Whether the whole usage fits the ClusterQueue now."""
    frs, wanted = numbered(snapshot, usage)
    return all(
        snapshot.ledger.available(queue.node, fr) >= amount for fr, amount in zip(frs, wanted, strict=True)
    )


def kept_free(
    snapshot: QuotaSnapshot, queue: Queue, usage: Usage, borrowing: bool
) -> dict[tuple[str, str], int]:
    """The quota that is kept free for a workload that waits because no workload may be preempted for it.

    If the workload must borrow, the whole usage is kept free, up to the borrowing limit. If not, only the free part
    of the nominal quota is. The result is never negative. (Kueue's is, for a ClusterQueue beyond its borrowing
    limit.)
    """
    quotas, kept = snapshot.layout.quotas, {}
    for pair, amount in usage.items():
        fr = snapshot.layout.frs[pair]
        limit = int(quotas.borrowing_limit[queue.node, fr])
        if borrowing and limit == UNSET:
            kept[pair] = amount
            continue
        most = int(quotas.nominal[queue.node, fr]) + (limit if borrowing else 0)
        kept[pair] = max(0, min(amount, most - snapshot.ledger.usage(queue.node, fr)))
    return kept


def numbered(snapshot: QuotaSnapshot, usage: Usage) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of the flavor-resources, and the amounts, as the ledger takes them."""
    frs = snapshot.layout.frs
    return tuple(frs[pair] for pair in usage), tuple(usage.values())
