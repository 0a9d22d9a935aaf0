"""All checks of `reprieve doctor`, in the order in which people ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from answers.doctor import clusters, gangs, installation, namespaces, native, schedulers
from answers.doctor.findings import Finding, Findings
from answers.doctor.seen import Seen

__all__ = ["examine"]

CHECKS: Final[tuple[Callable[[Seen, float], list[Finding]], ...]] = (
    installation.definitions,
    installation.process,
    installation.pauses,
    installation.holds,
    namespaces.enforced,
    namespaces.gated,
    installation.limits,
    schedulers.calls,
    schedulers.settings,
    schedulers.versions,
    native.gates,
    native.alpha,
    native.backoffs,
    schedulers.unknown,
    installation.rights,
    installation.webhooks,
    installation.certificates,
    gangs.found,
    gangs.failing,
    gangs.waiting,
    gangs.plans,
    gangs.kueue,
    clusters.unread,
    clusters.reached,
    clusters.gates,
    clusters.checks,
    clusters.rights,
    clusters.copies,
    clusters.turns,
)
"""Each one is a function of the objects and of the time in seconds since the epoch."""


def examine(seen: Seen, now: float, target: str = "") -> Findings:
    """What all checks say. `now`: in seconds since the epoch. `target`: the planning.mode that the cluster is to be
    ready for; empty: that of the leader. Raises ValueError for a time that is not one."""
    seen = replace(seen, target=target)
    return Findings(tuple(finding for check in CHECKS for finding in check(seen, now)))
