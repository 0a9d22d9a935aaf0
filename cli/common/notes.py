"""Lines beside an answer: what was ignored, not read or not counted."""

from __future__ import annotations

from collections.abc import Iterable

from cli.common.printable import complain

__all__ = ["note"]


def note(lines: Iterable[str]) -> None:
    """Print the lines to standard error."""
    for line in lines:
        complain(line)
