"""Metrics of the account. Labels are bounded: never the name of an object."""

from __future__ import annotations

from prometheus_client import Counter

__all__ = ["GAP_SECONDS", "GROUPS_BROKEN", "VICTIMS"]

VICTIMS = Counter(
    "reprieve_scheduler_victims_total",
    "Pods that a scheduler preempted, once it is known whether that served somebody: true, false, or unknown, if "
    "nothing says for whom it was.",
    ["served"],
)
GROUPS_BROKEN = Counter(
    "reprieve_groups_broken_total",
    "Groups that lost only a part of their pods to a preemption, although they are evicted whole by rule, by whom.",
    ["by"],
)
GAP_SECONDS = Counter(
    "reprieve_account_gap_seconds_total",
    "Seconds in which the leader could not see all of what schedulers did: it was not in touch with the API server, or "
    "may not read events.",
)
