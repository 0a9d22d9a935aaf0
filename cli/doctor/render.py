"""Findings as text for a person: one line each, and its remedy below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from answers.doctor.findings import Finding, Level
from cli.common.output import line

__all__ = ["render"]

STYLES: Final[dict[Level, str]] = {"OK": "green", "Note": "dim", "Warning": "yellow", "Error": "bold red"}


def render(findings: Sequence[Finding]) -> RenderableType:
    """The answer: the faults are counted first."""
    faults = [each for each in findings if each.fault]
    head = f"{len(faults)} faults" if len(faults) != 1 else "1 fault"
    parts: list[RenderableType] = [Text(head if faults else "All is well", "bold")]
    for each in findings:
        parts.append(Text(f"{each.level:<8}{each.check:<14}{each.message}", STYLES[each.level]))
        if each.fault:
            parts.append(line(f"{'':<6}{each.fault}: {each.remedy}"))
    return Group(*parts)
