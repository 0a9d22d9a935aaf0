"""A report as text for a person."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from answers.reports.report import Report
from answers.reports.rows import Row
from cli.common.output import line
from cli.common.tables import Rows

__all__ = ["render"]


def render(answer: Report) -> RenderableType:
    """The answer, then what the numbers do not say, then the numbers."""
    parts: list[RenderableType] = [Text(answer.answer, "bold")]
    if not answer.total.decisions:
        return Group(*parts, *(line(each) for each in answer.recorded.more))
    parts += [Text(), Text("not known", "dim"), *(line(f"  {each}") for each in answer.unknown), Text()]
    table = Rows(
        (
            answer.by,
            ">compared",
            ">ours",
            ">scheduler's",
            ">served nobody",
            ">groups broken",
            ">in pieces",
            ">seconds in pieces",
            ">bound",
            ">median seconds",
        )
    )
    for row in (*answer.rows, answer.total):
        table.add_row(*_cells(row))
    parts += [table, Text(), Text("ours and scheduler's are pods", "dim")]
    parts += [line(each) for each in answer.recorded.more]
    if answer.total.compared:
        parts += [Text(), _costs(answer)]
    return Group(*parts)


def _costs(answer: Report) -> RenderableType:
    """The four lines, and their sum."""
    has_money = bool(answer.bill.prices)
    hours = f">hours of {answer.bill.resource}"
    table = Rows(("costs, at most", hours, ">money") if has_money else ("costs, at most", hours))
    for each in answer.costs:
        cells = each.name, each.shown_hours, each.shown_money
        table.add_row(*cells if has_money else cells[:2])
    return table


def _cells(row: Row) -> list[str]:
    middle = row.median_seconds
    return [
        row.name,
        f"{row.compared} of {row.decisions}",
        *(
            str(each)
            for each in (
                row.ours,
                row.schedulers,
                row.served_nobody,
                row.groups_broken,
                row.in_pieces,
                row.in_pieces_seconds,
                row.bound,
            )
        ),
        f"{middle:.0f}" if middle is not None else "",
    ]
