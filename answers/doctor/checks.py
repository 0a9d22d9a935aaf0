"""All checks of `reprieve doctor`, in the order in which people ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from answers.doctor import clusters, gangs, installation, namespaces, native, schedulers
from answers.doctor.findings import Finding, Findings, note
from answers.doctor.seen import Seen
from answers.errors import UnreadError
from api.words import counted

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
UNREAD: Final = "not read"


def examine(seen: Seen, now: float, target: str = "") -> Findings:
    """What all checks say. `now`: in seconds since the epoch. `target`: the planning.mode that the cluster is to be
    ready for; empty: that of the leader. Raises ValueError for a time that is not one."""
    seen = replace(seen, target=target)
    found, unread = list[Finding](), Counter[str]()
    for check in CHECKS:
        try:
            found += check(seen, now)
        except UnreadError as error:
            unread[str(error)] += 1
    notes = [note(UNREAD, f"{counted(number, 'check')} cannot look: {why}") for why, number in unread.items()]
    return Findings((*found, *notes))
