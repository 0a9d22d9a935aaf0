"""What the pods of a gang in pieces say of it. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from api.core import Pod
from api.groups import INITIALLY_SCHEDULED, SCHEDULED
from api.jobs import INDEX_FAILURES
from api.times import parse_rfc3339
from controllers.gangs.lifecycle.partial import Member
from nodes.state.groups.budgets import BudgetTable
from nodes.state.pods.pod_facts import controller_of
from nodes.state.pods.pods import ENDED

__all__ = [
    "WAITS",
    "budget_in_the_way",
    "index_failures",
    "is_leaving",
    "member_of",
    "remaining",
    "seconds_of",
]

WAITS: Final = (INITIALLY_SCHEDULED, SCHEDULED)
"""Conditions that say, if they are False, that the gang waits. The second one comes first: as soon as it gathers."""


def budget_in_the_way(budgets: BudgetTable, namespace: str, bound: Sequence[Pod]) -> str:
    """The first budget that does not allow the eviction of all of these pods; empty if all budgets do."""
    counts = Counter(row for pod in bound for row in budgets.selecting(namespace, pod.metadata.labels or {}))
    rows = ((budgets.rows[row], count) for row, count in counts.items())
    return min((row.name for row, count in rows if row is not None and count > row.allowed), default="")


def remaining(pods: Sequence[Pod]) -> list[Pod]:
    """Those that have neither ended nor begun to terminate."""
    return [pod for pod in pods if not (pod.metadata.deletion_timestamp or _has_ended(pod))]


def _has_ended(pod: Pod) -> bool:
    return pod.status.phase in ENDED


def is_leaving(pod: Pod) -> bool:
    """Whether the pod was bound and terminates."""
    return bool(pod.metadata.deletion_timestamp and pod.spec.node_name) and not _has_ended(pod)


def index_failures(pod: Pod) -> int:
    """How often the index of the pod has failed, as its Job says."""
    text = (pod.metadata.annotations or {}).get(INDEX_FAILURES, "0")
    return int(text) if text.isdecimal() else 0


def member_of(pod: Pod) -> Member:
    """The pod, as the rule knows it."""
    created = seconds_of(pod.metadata.creation_timestamp) or 0.0
    scheduled = next((each for each in pod.status.conditions or () if each.type == "PodScheduled"), None)
    bound = seconds_of(scheduled.last_transition_time) if scheduled is not None else None
    when = (bound or created) if pod.spec.node_name else None
    return Member(pod.metadata.name, created, when, controller_of(pod) is not None)


def seconds_of(text: str | None) -> float | None:
    """The time in seconds since the epoch; None without a time that can be read."""
    try:
        return parse_rfc3339(text) if text else None
    except ValueError:
        return None
