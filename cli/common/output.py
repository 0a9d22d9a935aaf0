"""The output of the commands: tables and sentences on a terminal, JSON or YAML for programs."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

import msgspec
import yaml
from rich.console import Console, Group, RenderableType
from rich.text import Text

from api.yaml import STRING_TAG, Dumper
from cli.common.printable import in_json, in_yaml, on_one_line, one_line, unguarded
from cli.common.tables import Rows, sentence

__all__ = [
    "BAD_INPUT",
    "line",
    "plain_table",
    "show",
    "show_as",
    "show_page",
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
        terminal = Console(file=unguarded(sys.stdout), highlight=False, markup=False, emoji=False)
        terminal.print(_whole(answer), crop=False)
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
    """The same, with texts that are wrapped between words only. A text is one line."""
    if isinstance(answer, Text):
        return sentence(on_one_line(answer), 0)
    return Group(*map(_whole, answer.renderables)) if isinstance(answer, Group) else answer


def show_as(data: dict[str, Any], output: str) -> None:
    """Print the data to standard output, in the format `json` or `yaml`. Its encoding may lack characters."""
    text = _formatted(data, output)
    try:
        text.encode(unguarded(sys.stdout).encoding)
    except UnicodeEncodeError:
        plain = json.dumps(json.loads(text), indent=2) if output == "json" else _yaml(data, False)
        text = f"{plain.rstrip()}\n"
    sys.stdout.write(text)


def show_page(page: str) -> None:
    """Print a page of HTML to standard output. It is ASCII, and its values are escaped."""
    sys.stdout.write(page)


def _formatted(data: dict[str, Any], output: str) -> str:
    """The data as text in the format `json` or `yaml`. What cannot be printed is escaped, and the values stay."""
    if output == "json":
        return in_json(msgspec.json.format(msgspec.json.encode(data), indent=2).decode()) + "\n"
    return in_yaml(_yaml(data, True))


def _yaml(data: dict[str, Any], allow_unicode: bool) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=allow_unicode, width=100)


class _Dumper(Dumper):
    """Quotes texts with characters that cannot be printed. PyYAML has fewer of them."""


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = None if value.isprintable() else '"'
    return dumper.represent_scalar(STRING_TAG, value, style)


_Dumper.add_representer(str, _text)


def title(text: str) -> RenderableType:
    """The heading of a part of the answer."""
    return Group(Text(), Text(one_line(text), "bold"))


def line(text: str, style: str = "") -> RenderableType:
    """A sentence in a part of the answer."""
    return sentence(Text(one_line(text), style), 2)


def plain_table(*columns: str) -> Rows:
    """A table without lines. A column whose name starts with `>` holds numbers. See `Rows` for narrow terminals."""
    return Rows(columns)


def with_rest(table: Rows, more: int) -> RenderableType:
    """The table, with the number of rows that it lacks below."""
    return Group(table, line(f"and {more} more (all of them: -o yaml)", "dim")) if more > 0 else table
