"""The sources of docs/comparison.md: each cell of its table has one, with the date on which it was checked.

`python -m hack.comparison` is what `make release` asks: it fails if a date is too old.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

__all__ = ["MOST_DAYS", "PAGE", "check", "faults"]

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "comparison.md"
MOST_DAYS: Final = 180
"""How old a date may be."""
ROW: Final = re.compile(r"^\|(?P<cells>.*)\|$", re.MULTILINE)
REFERENCE: Final = re.compile(r"\[\^([\w-]+)\](?!:)")
SOURCE: Final = re.compile(r"^\[\^(?P<name>[\w-]+)\]: (?P<text>.*)$", re.MULTILINE)
CHECKED: Final = re.compile(r" Checked (\d{4}-\d{2}-\d{2})\.$")
LINK: Final = re.compile(r"\]\([^)]+\)")
SECTION: Final = "\n## When {} is the better choice\n"


def faults(page: str) -> list[str]:
    """What the page lacks: cells without source, sources without place or date, and columns without a section."""
    return [*_of_cells(page), *_of_sources(page), *_of_sections(page)]


def check(today: date, page: str | None = None) -> list[str]:
    """The faults of a page, by default docs/comparison.md, and its sources that were checked too long ago."""
    text = PAGE.read_text(encoding="utf-8") if page is None else page
    old = []
    for name, source in _sources(text).items():
        found = CHECKED.search(source)
        if found and (today - date.fromisoformat(found[1])).days > MOST_DAYS:
            old.append(f"the source {name} was checked more than {MOST_DAYS} days ago, on {found[1]}")
    return [*faults(text), *old]


def _rows(page: str) -> tuple[list[str], list[list[str]]]:
    """The columns of the table, without the first one, and its rows with their first cells."""
    found = [[cell.strip() for cell in row["cells"].split("|")] for row in ROW.finditer(page)]
    if not found:
        return [], []
    head, _, *rows = found
    return head[1:], rows


def _sources(page: str) -> dict[str, str]:
    return {match["name"]: match["text"] for match in SOURCE.finditer(page)}


def _of_cells(page: str) -> Iterator[str]:
    columns, rows = _rows(page)
    if not rows:
        yield "there is no table"
    sources = _sources(page)
    for title, *cells in rows:
        if len(cells) != len(columns):
            yield f"the row {title!r} has {len(cells)} cells, and there are {len(columns)} columns"
        for column, cell in zip(columns, cells, strict=False):
            names = REFERENCE.findall(cell)
            if not names:
                yield f"the cell {title!r} of {column} has no source"
            yield from (
                f"the cell {title!r} of {column} has the source {name}, which the page does not list"
                for name in names
                if name not in sources
            )


def _of_sources(page: str) -> Iterator[str]:
    used = set(REFERENCE.findall(page))
    for name, text in _sources(page).items():
        if not CHECKED.search(text):
            yield f"the source {name} has no date"
        if not LINK.search(text):
            yield f"the source {name} has no link"
        if name not in used:
            yield f"nothing has the source {name}"


def _of_sections(page: str) -> Iterator[str]:
    for column in _rows(page)[0]:
        if SECTION.format(column) not in page:
            yield f"no section says when {column} is the better choice"


def main() -> int:
    """Returns the exit status: 1 if the page has a fault today."""
    found = check(datetime.now(UTC).date())
    sys.stderr.write("".join(f"docs/comparison.md: {each}\n" for each in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
