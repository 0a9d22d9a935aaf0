"""The output of the commands: tables and sentences on a terminal, JSON or YAML for programs."""

from __future__ import annotations

import sys
from typing import Any, Final

import msgspec
import yaml
from rich.console import Console, Group, RenderableType
from rich.text import Text

from api.yaml import Dumper
from cli.common.tables import Rows, sentence

__all__ = [
    "BAD_INPUT",
    "formatted",
    "line",
    "plain_table",
    "show",
    "title",
    "with_rest",
]

BAD_INPUT: Final = 2
"""The exit status for bad input."""
PIPE_WIDTH: Final = 100_000
"""In a pipe or a file, lines are not wrapped. Tables take no more width than they need."""


def show(answer: RenderableType) -> None:
    """Print to standard output. Lines are wrapped on a terminal only, and no word is cut.

    Colours are used on a terminal only, and only if NO_COLOR is not set.
    """
    if sys.stdout.isatty():
        Console(highlight=False, markup=False, emoji=False).print(_whole(answer), crop=False)
        return
    out = Console(
        width=PIPE_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        # FORCE_COLOR and the like are for terminals that do not look like one.
        force_terminal=False,
        color_system=None,
    )
    with out.capture() as capture:
        out.print(_whole(answer), crop=False)
    # Tables fill their cells with spaces, which are of no use in a file.
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def _whole(answer: RenderableType) -> RenderableType:
    """The same, with texts that are wrapped between words only."""
    if isinstance(answer, Text):
        return sentence(answer, 0)
    return Group(*map(_whole, answer.renderables)) if isinstance(answer, Group) else answer


def formatted(data: dict[str, Any], output: str) -> str:
    """The data as text in the format `json` or `yaml`."""
    if output == "json":
        return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
    return yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)


def title(text: str) -> RenderableType:
    """The heading of a part of the answer."""
    return Group(Text(), Text(text, "bold"))


def line(text: str, style: str = "") -> RenderableType:
    """A sentence in a part of the answer."""
    return sentence(Text(text, style), 2)


def plain_table(*columns: str) -> Rows:
    """A table without lines. A column whose name starts with `>` holds numbers. See `Rows` for narrow terminals."""
    return Rows(columns)


def with_rest(table: Rows, more: int) -> RenderableType:
    """The table, with the number of rows that it lacks below."""
    return Group(table, line(f"and {more} more (all of them: -o yaml)", "dim")) if more > 0 else table
