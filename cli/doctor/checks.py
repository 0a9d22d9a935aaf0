"""All checks of `reprieve doctor`, in the order in which people ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cli.doctor import gangs, installation, schedulers
from cli.doctor.findings import Finding
from cli.doctor.objects import Seen

__all__ = ["examine"]

CHECKS: Final[tuple[Callable[[Seen, float], list[Finding]], ...]] = (
    installation.definitions,
    installation.process,
    schedulers.calls,
    schedulers.settings,
    schedulers.versions,
    schedulers.gates,
    schedulers.unknown,
    installation.rights,
    installation.webhooks,
    installation.certificates,
    gangs.found,
    gangs.failing,
    gangs.waiting,
    gangs.plans,
    gangs.kueue,
)
"""Each one is a function of the objects and of the time in seconds since the epoch."""


def examine(seen: Seen, now: float) -> list[Finding]:
    """What all checks say. Raises ValueError for a time that is not one."""
    return [finding for check in CHECKS for finding in check(seen, now)]
