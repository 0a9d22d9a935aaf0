"""Queues as plain data, under names that scripts can rely on. docs/queue.md describes them.

What a reader may not know has no field.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from answers.withholding import Reader
from api.kueue import LocalQueue
from api.workloads import Workload
from quota.answers.accounts import Account
from quota.answers.overview import NodeOverview, Overview, QueueOverview, TriedAlone
from quota.answers.pod_counts import counts_of
from quota.answers.reclaims import Reclaim
from quota.search.decision import Target
from quota.state.amounts import shown
from quota.state.snapshot import QuotaSnapshot
from quota.state.statuses import Tally
from quota.state.workloads import effective_priority, key_of

__all__ = ["plain", "plain_queue"]


def plain(everything: Overview, reader: Reader) -> dict[str, Any]:
    """All queues, for a reader who may know ClusterQueues. Amounts are quantities."""
    found = {
        "trees": [[_node(node) for node in tree] for tree in everything.trees],
        "reclaims": _reclaims(everything.reclaims, reader),
    }
    return found | _missing(reader)


def plain_queue(
    one: QueueOverview, local: LocalQueue | None, counts: Tally, snapshot: QuotaSnapshot, reader: Reader
) -> dict[str, Any]:
    """One ClusterQueue. `local`: the LocalQueue that was asked for, if it was one."""
    name = one.queue.name
    named = [each for each in one.waiting if _may_name(each.entry.workload, reader)]
    found = {
        "clusterQueue": name,
        **(_of_all(one, counts) if reader.lists("clusterqueues") else {}),
        "localQueue": None if local is None else _local(local, name, counts),
        "waiting": [_waiting(each, snapshot, reader) for each in named],
    }
    if reader.lists("clusterqueues"):
        others = len(one.waiting) - len(named)
        found |= {"othersWaiting": others} if others else {}
        found |= {"couldTake": _reclaims(one.takes, reader), "couldLose": _reclaims(one.loses, reader)}
    return found | _missing(reader)


def _missing(reader: Reader) -> dict[str, Any]:
    """The rights that would show more, if there are any."""
    return {"missing": reader.missing} if reader.missing else {}


def _may_name(workload: Workload, reader: Reader) -> bool:
    return reader.may_name("Workload", workload.metadata.namespace)


def _of_all(one: QueueOverview, counts: Tally) -> dict[str, Any]:
    """What counts the Workloads of all namespaces, and what leads to other queues."""
    numbers = counts.cluster_queue(one.queue.name)
    return {
        "path": one.path,
        "cohort": one.queue.spec.cohort_name or None,
        "inactive": one.queue.inactive or None,
        "reservingWorkloads": numbers.reserving,
        "admittedWorkloads": numbers.admitted,
        "quota": [_account(each) for each in one.accounts],
    }


def _local(local: LocalQueue, queue: str, counts: Tally) -> dict[str, Any]:
    key = f"{local.metadata.namespace}/{local.metadata.name}"
    numbers = counts.local_queue(key, queue)
    return {
        "name": key,
        "stopPolicy": local.spec.stop_policy,
        "reservingWorkloads": numbers.reserving,
        "admittedWorkloads": numbers.admitted,
        "used": [
            {"flavor": flavor, "resource": resource, "quantity": shown(resource, amount)}
            for (flavor, resource), amount in sorted(numbers.reservation.items())
        ],
    }


def _node(node: NodeOverview) -> dict[str, Any]:
    return {
        "kind": "Cohort" if node.is_cohort else "ClusterQueue",
        "name": node.name,
        "depth": node.depth,
        "inactive": node.inactive or None,
        "waiting": None if node.is_cohort else node.waiting,
        "quota": [_account(each) for each in node.accounts],
    }


def _account(each: Account) -> dict[str, Any]:
    limits = {"borrowingLimit": each.borrowing_limit, "lendingLimit": each.lending_limit}
    amounts = {
        "nominal": each.nominal,
        **limits,
        "quota": each.quota,
        "used": each.used,
        "borrowed": each.borrowed,
        "lentAtLeast": each.lent.least,
        "lentAtMost": each.lent.most,
        "free": each.free,
    }
    return {
        "flavor": each.flavor,
        "resource": each.resource,
        **{
            name: None if amount is None else shown(each.resource, amount) for name, amount in amounts.items()
        },
    }


def _waiting(tried: TriedAlone, snapshot: QuotaSnapshot, reader: Reader) -> dict[str, Any]:
    entry = tried.entry
    workload, decision = entry.workload, entry.decision
    targets = () if decision is None else decision.targets
    return {
        "workload": key_of(workload),
        "localQueue": workload.spec.queue_name,
        "priority": effective_priority(workload),
        "created": workload.metadata.creation_timestamp,
        "outcome": tried.outcome,
        "notModelled": list(tried.doubts),
        "message": entry.message,
        "victims": [
            target.holder.key if _may_name(target.holder.workload, reader) else "" for target in targets
        ],
        "podSets": [] if decision is None else [each.plain() for each in counts_of(decision)],
    }


def _reclaims(reclaims: Iterable[Reclaim], reader: Reader) -> list[dict[str, Any]]:
    return [_reclaim(each, reader) for each in reclaims]


def _reclaim(each: Reclaim, reader: Reader) -> dict[str, Any]:
    knows_all = all(_may_name(target.holder.workload, reader) for target in each.targets)
    return {
        "clusterQueue": each.queue,
        "flavor": each.flavor,
        "resource": each.resource,
        "amount": shown(each.resource, each.amount),
        "free": shown(each.resource, each.free),
        "withinNominal": each.within_nominal,
        # It is the priority of a victim.
        **({"abovePriority": each.above} if knows_all else {}),
        "rules": list(each.rules),
        "victims": [_victim(each, target, reader) for target in each.targets],
    }


def _victim(each: Reclaim, target: Target, reader: Reader) -> dict[str, Any]:
    """A Workload that would lose its quota. Without its name it has no priority either, and no amount."""
    holder = target.holder
    if not _may_name(holder.workload, reader):
        return {"clusterQueue": holder.queue, "reason": target.reason}
    return {
        "workload": holder.key,
        "clusterQueue": holder.queue,
        "priority": holder.priority,
        "reason": target.reason,
        "holds": shown(each.resource, holder.usage.get((each.flavor, each.resource), 0)),
        "evicting": holder.evicting,
    }
