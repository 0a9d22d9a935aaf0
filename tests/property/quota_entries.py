"""What two cycles are compared by, and what a cycle must not change."""

from __future__ import annotations

from quota.cycle.entries import Entry
from quota.state.snapshot import QuotaSnapshot

__all__ = ["summary", "usage"]


def summary(entries: list[Entry]) -> list[tuple[object, ...]]:
    return [
        (
            entry.workload.metadata.name,
            entry.outcome,
            entry.message,
            entry.requeue,
            entry.requeue_reason,
            entry.quota_reserved_reason,
            entry.retry_at,
            [(target.holder.key, target.reason) for target in entry.decision.targets]
            if entry.decision
            else [],
        )
        for entry in entries
    ]


def usage(world: QuotaSnapshot) -> list[int]:
    nodes, frs = len(world.layout.quotas.parent), len(world.layout.frs)
    return [world.ledger.usage(node, fr) for node in range(nodes) for fr in range(frs)]
