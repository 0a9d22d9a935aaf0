"""Queues as plain data, under names that scripts can rely on. docs/queue.md describes them."""

from __future__ import annotations

from typing import Any

from api.kueue import LocalQueue
from quota.answers.accounts import Account
from quota.answers.overview import NodeOverview, Overview, QueueOverview, TriedAlone
from quota.answers.pod_counts import counts_of
from quota.answers.reclaims import Reclaim
from quota.state.amounts import shown
from quota.state.snapshot import QuotaSnapshot
from quota.state.statuses import Tally
from quota.state.workloads import effective_priority, key_of

__all__ = ["plain", "plain_queue"]


def plain(everything: Overview) -> dict[str, Any]:
    """All queues. Amounts are quantities."""
    return {
        "trees": [[_node(node) for node in tree] for tree in everything.trees],
        "reclaims": [_reclaim(each) for each in everything.reclaims],
    }


def plain_queue(
    one: QueueOverview, local: LocalQueue | None, counts: Tally, snapshot: QuotaSnapshot
) -> dict[str, Any]:
    """One ClusterQueue. `local`: the LocalQueue that was asked for, if it was one."""
    name = one.queue.name
    numbers = counts.cluster_queue(name)
    return {
        "clusterQueue": name,
        "path": one.path,
        "cohort": one.queue.spec.cohort_name or None,
        "inactive": one.queue.inactive or None,
        "reservingWorkloads": numbers.reserving,
        "admittedWorkloads": numbers.admitted,
        "quota": [_account(each) for each in one.accounts],
        "localQueue": None if local is None else _local(local, name, counts),
        "waiting": [_waiting(each, snapshot) for each in one.waiting],
        "couldTake": [_reclaim(each) for each in one.takes],
        "couldLose": [_reclaim(each) for each in one.loses],
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


def _waiting(tried: TriedAlone, snapshot: QuotaSnapshot) -> dict[str, Any]:
    entry = tried.entry
    workload, decision = entry.workload, entry.decision
    return {
        "workload": key_of(workload),
        "localQueue": workload.spec.queue_name,
        "priority": effective_priority(workload),
        "created": workload.metadata.creation_timestamp,
        "outcome": tried.outcome,
        "notModelled": list(tried.doubts),
        "message": entry.message,
        "victims": [] if decision is None else [target.holder.key for target in decision.targets],
        "podSets": [] if decision is None else [each.plain() for each in counts_of(decision)],
    }


def _reclaim(each: Reclaim) -> dict[str, Any]:
    return {
        "clusterQueue": each.queue,
        "flavor": each.flavor,
        "resource": each.resource,
        "amount": shown(each.resource, each.amount),
        "free": shown(each.resource, each.free),
        "withinNominal": each.within_nominal,
        "abovePriority": each.above,
        "rules": list(each.rules),
        "victims": [
            {
                "workload": target.holder.key,
                "clusterQueue": target.holder.queue,
                "priority": target.holder.priority,
                "reason": target.reason,
                "holds": shown(each.resource, target.holder.usage.get((each.flavor, each.resource), 0)),
                "evicting": target.holder.evicting,
            }
            for target in each.targets
        ],
    }
