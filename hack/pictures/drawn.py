"""All pictures, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from hack.pictures import gangs, grid, report
from hack.pictures.recordings import GangRecording, GridRecording, ReportRecording, read
from hack.pictures.svg import THEMES, Theme

__all__ = ["MOST_BYTES", "NAMES", "files_of"]

MOST_BYTES: Final = 60_000
"""Of a file."""


def files_of(name: str) -> dict[str, str]:
    """The files of a picture: their names in docs/pictures, and their contents, drawn from the stored recording.

    Raises KeyError if there is no picture of this name.
    """
    draw = _DRAWN[name](name)
    return {f"{name}-{theme.name}.svg": draw(theme) for theme in THEMES}


def _gang(name: str) -> Callable[[Theme], str]:
    return partial(gangs.draw, read(name, GangRecording))


def _grid(name: str) -> Callable[[Theme], str]:
    return partial(grid.draw, read(name, GridRecording))


def _report(name: str) -> Callable[[Theme], str]:
    return partial(report.draw, read(name, ReportRecording))


_DRAWN: Final = {
    "gang-of-three": _gang,
    "gang-of-four": _gang,
    "interleaved": _grid,
    "report": _report,
}
NAMES: Final = tuple(_DRAWN)
