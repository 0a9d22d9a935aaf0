"""Whether reprieve works: what `reprieve doctor -o json` prints."""

from __future__ import annotations

from answers.doctor.findings import Level
from web.wire.base import Wire

__all__ = ["Finding", "Findings"]


class Finding(Wire):
    """What one check says."""

    check: str
    level: Level
    message: str
    fault: str | None
    """Its name in docs/doctor.md. None: nothing is wrong."""
    remedy: str | None
    """What helps. None: nothing is wrong."""
    command: str | None
    """Does it, or shows what the remedy says to look at. None: no command does that by itself."""


class Findings(Wire):
    """What all checks say."""

    findings: list[Finding]
    """In the order in which people ask."""
