"""The ways in which the interleaved case is measured, and the table that compares them."""

from __future__ import annotations

import io
from typing import Final

import pytest
from rich.console import Console

from bench import gang
from bench.floor import Cost
from bench.gang import (
    ALONE,
    DRIVEN,
    OURS,
    OURS_GATED,
    OURS_WITH_GATE,
    STEERED,
    WAYS,
    Result,
    Size,
    Way,
    in_order,
    results_table,
)

SMALL: Final = Size(20, 10)


@pytest.mark.parametrize(
    ("way", "gate", "reprieve", "mode"),
    [
        (ALONE, True, False, None),
        (STEERED, True, True, "Steer"),
        (DRIVEN, True, True, "Drive"),
        (OURS, False, True, None),
        (OURS_WITH_GATE, True, True, None),
        (OURS_GATED, False, True, None),
    ],
)
def test_the_plane_of_each_way(way: Way, *, gate: bool, reprieve: bool, mode: str | None) -> None:
    options = way.options()
    assert ((options.feature_gates or {}).get("GenericWorkload", False), options.reprieve) == (gate, reprieve)
    expected = None if mode is None else {"planning": {"nativeGroups": mode}}
    assert options.reprieve_settings == expected


def shown(results: dict[Way, Result]) -> list[list[str]]:
    """The cells of the table, row by row."""
    console = Console(file=io.StringIO(), width=200, record=True)
    console.print(results_table(results, SMALL))
    lines = console.export_text().splitlines()
    rows = (line for line in lines if line.startswith("│"))
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in rows]


def test_each_way_has_a_row_with_its_part_of_the_time_alone() -> None:
    results = {way: Result(groups=9, pods=90, bound=10, seconds=5.0) for way in WAYS}
    results[ALONE] = Result(groups=20, pods=200, bound=10, seconds=20.0)
    rows = {row[0]: row[1:] for row in shown(results)}
    assert rows[ALONE.name] == ["20", "200", "10/10", "20.0", "1.00", ""]
    assert rows[STEERED.name] == ["9", "90", "10/10", "5.0", "0.25", f"at most {gang.MOST[STEERED]}"]
    assert rows[OURS.name] == ["9", "90", "10/10", "5.0", "0.25", ""]
    assert rows["enough"] == ["9", "90", "10/10", "", "", ""]
    assert set(rows) == {*(way.name for way in WAYS), "enough"}


def test_a_way_in_which_nobody_was_bound() -> None:
    results = {way: Result(groups=0, pods=0, bound=0, seconds=0.0) for way in WAYS}
    assert [row[5] for row in shown(results)[:2]] == ["", ""]


def test_ways_that_were_not_measured_have_no_row() -> None:
    results = {OURS_GATED: Result(groups=9, pods=90, bound=10, seconds=5.0)}
    assert shown(results)[0] == [
        OURS_GATED.name,
        "9",
        "90",
        "10/10",
        "5.0",
        "",
        f"at most {gang.MOST[OURS_GATED]}",
    ]


def test_only_the_row_that_counts_has_webhooks_and_it_comes_first() -> None:
    assert [way for way in WAYS if way.options().webhooks] == [OURS_GATED]
    costs = {way: [Cost(way.name, 90, 1.0)] for way in WAYS}
    costs[OURS_GATED].append(Cost("bare", 90, 1.0))
    rows = [cost.name for cost in in_order(costs)]
    assert rows == [OURS_GATED.name, "bare", *(way.name for way in WAYS if way is not OURS_GATED)]
