"""Tables that fit the terminal and never cut a name: other columns give way, or each row becomes lines of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from cli.common.printable import on_one_line, one_line

__all__ = ["Rows", "sentence"]

NUMBER: Final = ">"
LEAST_TEXT: Final = 24
"""A column of sentences is never narrower than this, unless its sentences are shorter."""
GAP: Final = 2
"""Between two columns. Half of it is left of the first one."""
INDENT: Final = 4
HEADER_STYLE: Final = "dim"
WORD: Final = re.compile(r"\S+")
INDENTED: Final = re.compile(r"^[ ]*\S+|\S+", re.MULTILINE)
"""A word, with the spaces before the first one of a line: they stand in its column, too."""


@dataclass(slots=True)
class Rows:
    """A table without lines. A column whose name starts with `>` holds numbers.

    Cells wrap between words only. If the words of a row do not fit beside each other, the rows are shown one below
    the other: the first cell that is not empty, and then the other cells with their columns' names.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Text, ...]] = field(default_factory=list)

    def add_row(self, *cells: str | Text) -> None:
        """Add one cell for each column."""
        self.rows.append(
            tuple(Text(one_line(cell)) if isinstance(cell, str) else on_one_line(cell) for cell in cells)
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich asks for: the table that fits the width."""
        widths = _fitting(self._wishes(), options.max_width)
        if widths is None:
            yield Group(*self._blocks())
        else:
            yield self._table(widths)

    def _names(self) -> list[str]:
        return [name.removeprefix(NUMBER) for name in self.columns]

    def _wishes(self) -> list[tuple[int, int]]:
        """By column: the least width, and the width without any wrapping."""
        wishes = []
        for index, name in enumerate(self._names()):
            cells = [Text(name), *(row[index] for row in self.rows)]
            most = max((len_ for cell in cells for len_ in _lengths(cell.plain.splitlines())), default=0)
            word = max((len_ for cell in cells for len_ in _lengths(INDENTED.findall(cell.plain))), default=0)
            wishes.append((max(word, min(most, LEAST_TEXT)), most))
        return wishes

    def _table(self, widths: Sequence[int]) -> Table:
        table = Table(box=None, padding=(0, 1), header_style=HEADER_STYLE)
        for column, name, width in zip(self.columns, self._names(), widths, strict=True):
            justify: JustifyMethod = "left" if name == column else "right"
            table.add_column(name, justify=justify, width=width, overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return table

    def _blocks(self) -> Iterator[RenderableType]:
        for row in self.rows:
            shown = [(name, cell) for name, cell in zip(self._names(), row, strict=True) if cell.plain]
            marks = [cell for name, cell in shown if not name]
            named = [(name, cell) for name, cell in shown if name]
            head = Text(" ").join([*marks, *(cell for _, cell in named[:1])])
            yield sentence(head, 1)
            yield from _beside([Text.assemble((f"{name} ", HEADER_STYLE), cell) for name, cell in named[1:]])


def _beside(cells: Sequence[Text]) -> Iterator[RenderableType]:
    """Short cells in one paragraph, and each sentence in one of its own."""
    short = [cell for cell in cells if cell.cell_len <= LEAST_TEXT]
    if short:
        yield sentence(Text(", ").join(short), INDENT)
    for cell in cells:
        if cell.cell_len > LEAST_TEXT:
            yield sentence(cell, INDENT)


def sentence(text: Text, indent: int) -> RenderableType:
    """Text that wraps between words only. A word that is longer than a line stays whole.

    Print it with `crop=False`.
    """
    return _Whole(text, indent)


@dataclass(slots=True)
class _Whole:
    text: Text
    indent: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What rich asks for: the lines."""
        for piece in self.text.split(allow_blank=True):
            for line in _lines(piece, options.max_width - self.indent):
                whole = Text.assemble(" " * self.indent, line)
                whole.no_wrap, whole.overflow = True, "ignore"
                yield whole


def _lines(text: Text, width: int) -> Iterator[Text]:
    """Lines of whole words, each as long as the width allows."""
    begin = end = 0
    for word in WORD.finditer(text.plain):
        if cell_len(text.plain[begin : word.end()]) > width and end > begin:
            yield text[begin:end]
            begin = word.start()
        end = word.end()
    yield text[begin:end]


def _lengths(texts: Sequence[str]) -> list[int]:
    return [cell_len(text) for text in texts]


def _fitting(wishes: Sequence[tuple[int, int]], width: int) -> list[int] | None:
    """A width for each column; None if they do not fit beside each other. Those that lack most get what is left."""
    left = width - GAP * len(wishes) - sum(least for least, _ in wishes)
    if left < 0:
        return None
    lacks = [most - least for least, most in wishes]
    given = [0] * len(wishes)
    if sum(lacks) <= left:
        given = lacks
    else:
        level = 0
        while sum(min(lack, level + 1) for lack in lacks) <= left:
            level += 1
        given = [min(lack, level) for lack in lacks]
    return [least + more for (least, _), more in zip(wishes, given, strict=True)]
