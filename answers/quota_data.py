"""A decision about quota as plain data, under names that scripts can rely on."""

from __future__ import annotations

from typing import Any

from api.workloads import QUOTA_RESERVED, Workload
from quota.search.assignment import Assignment, Attempt, Check, FlavorSearch
from quota.search.decision import Decision, Target
from quota.search.explain import Explanation, SearchAttempt
from quota.state.amounts import shown

__all__ = ["plain"]


def plain(decision: Decision) -> dict[str, Any]:
    """The whole decision. Amounts are quantities, and times are RFC 3339."""
    explanation = decision.explanation
    return {
        "workload": decision.workload,
        "clusterQueue": decision.queue,
        "mode": decision.mode,
        "gated": decision.gated,
        "borrowing": decision.borrowing,
        "flavors": {name: dict(flavors) for name, flavors in decision.flavors.items()},
        "targets": [_target(target) for target in decision.targets],
        "message": decision.message,
        "noFitReason": decision.no_fit_reason,
        "podSets": _pod_sets(decision),
        "allPods": None if decision.full is None else _all_pods(decision.full),
        "explanation": None if explanation is None else _explanation(explanation),
    }


def _target(target: Target) -> dict[str, Any]:
    holder = target.holder
    return {
        "workload": holder.key,
        "reason": target.reason,
        "clusterQueue": holder.queue,
        "priority": holder.priority,
        "quotaReserved": _reserved(holder.workload),
        "evicting": holder.evicting,
        "usage": [
            {"flavor": flavor, "resource": resource, "quantity": shown(resource, amount)}
            for (flavor, resource), amount in sorted(holder.usage.items())
        ],
    }


def _reserved(workload: Workload) -> str | None:
    """When the quota was reserved, as the object says it."""
    conditions = workload.status.conditions or ()
    return next((each.last_transition_time for each in conditions if each.type == QUOTA_RESERVED), None)


def _pod_sets(decision: Decision) -> list[dict[str, Any]]:
    return [
        {
            "name": pods.name,
            "count": pods.count,
            "askedCount": pods.asked,
            "requests": {name: shown(name, amount) for name, amount in pods.requests.items()},
            "flavors": {
                name: {"flavor": each.flavor, "mode": each.mode, "borrowing": each.borrowing}
                for name, each in pods.flavors.items()
            },
        }
        for pods in decision.assignment.pod_sets
    ]


def _all_pods(full: Assignment) -> dict[str, Any]:
    """Of a partial admission: why all pods get no quota."""
    return {"mode": full.mode, "noFitReason": full.no_fit_reason, "message": full.message}


def _explanation(explanation: Explanation) -> dict[str, Any]:
    return {
        "flavors": [_search(search) for search in explanation.flavors],
        "attempts": [_attempt(attempt) for attempt in explanation.attempts],
        "passedOver": [
            {"clusterQueue": each.queue, "reason": each.reason, "count": each.count}
            for each in explanation.passed_over
        ],
    }


def _search(search: FlavorSearch) -> dict[str, Any]:
    return {
        "podSets": list(search.pod_sets),
        "resources": list(search.resources),
        "chosen": search.chosen,
        "stop": search.stop,
        "tried": [_tried(attempt) for attempt in search.attempts],
    }


def _tried(attempt: Attempt) -> dict[str, Any]:
    return {
        "flavor": attempt.flavor,
        "outcome": attempt.outcome,
        "borrowing": attempt.borrowing,
        "mismatch": attempt.mismatch,
        "resources": [_check(check) for check in attempt.checks],
    }


def _check(check: Check) -> dict[str, Any]:
    amounts = {
        "asked": check.asked,
        "earlier": check.earlier,
        "available": check.available,
        "potential": check.potential,
        "nominal": check.nominal,
    }
    return {
        "resource": check.resource,
        **{name: shown(check.resource, amount) for name, amount in amounts.items()},
        "borrowing": check.borrowing,
        "outcome": check.outcome,
        "rule": check.rule,
        "reason": check.reason,
    }


def _attempt(attempt: SearchAttempt) -> dict[str, Any]:
    return {
        "borrowing": attempt.borrowing,
        "candidates": [
            {
                "workload": each.holder.key,
                "clusterQueue": each.holder.queue,
                "step": each.step,
                "reason": each.reason,
            }
            for each in attempt.candidates
        ],
    }
