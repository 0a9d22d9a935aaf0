"""docs/comparison.md: each cell has a source with a date, and each column has a section for what is better there."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

import pytest

from hack.comparison import MOST_DAYS, PAGE, check, faults
from hack.pictures.grid import words
from hack.pictures.recordings import GridRecording, read

CHECKED: Final = date(2026, 11, 27)
GOOD: Final = """# Which one?

| | reprieve | Other |
|---|---|---|
| scheduler | kube-scheduler [^own] | its own [^other] |

## When reprieve is the better choice

## When Other is the better choice

[^own]: [install.md](install.md). Checked 2026-11-27.
[^other]: [issue 1](https://example.com/1), open. Checked 2026-11-27.
"""


def test_the_page_has_no_fault() -> None:
    assert faults(PAGE.read_text()) == []


def test_the_page_has_the_numbers_of_the_recording() -> None:
    page = PAGE.read_text()
    for name, way in read("interleaved", GridRecording).ways.items():
        assert f" {words(way)} [^r-interleaved]" in page, name


def test_the_sources_are_told_apart() -> None:
    assert faults(GOOD) == []
    assert check(CHECKED, GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (" [^other] |", " |", "the cell 'scheduler' of Other has no source"),
        ("its own [^other]", "its own [^none]", "has the source none, which the page does not list"),
        ("open. Checked 2026-11-27.", "open.", "the source other has no date"),
        ("[issue 1](https://example.com/1)", "issue 1", "the source other has no link"),
        ("## When Other is the better choice", "", "no section says when Other is the better choice"),
        (" | its own [^other] |", " |", "the row 'scheduler' has 1 cells"),
        ("kube-scheduler [^own]", "kube-scheduler [^other]", "nothing has the source own"),
        ("|", "", "there is no table"),
    ],
)
def test_what_is_missing_is_found(old: str, new: str, fault: str) -> None:
    assert any(fault in each for each in faults(GOOD.replace(old, new)))


def test_an_old_date_is_found_and_the_last_day_is_not_old() -> None:
    last = CHECKED + timedelta(days=MOST_DAYS)
    assert check(last, GOOD) == []
    assert [each.partition(" was ")[0] for each in check(last + timedelta(days=1), GOOD)] == [
        "the source own",
        "the source other",
    ]
