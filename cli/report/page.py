"""A report as one HTML file: no scripts, and nothing from elsewhere.

Names come from whoever may write to the cluster. Jinja2 escapes each value, what cannot be printed is shown as on a
terminal, and the page's Content-Security-Policy allows its own style sheet alone. The page is ASCII, with references in
place of other characters, so it is the same in any encoding of standard output.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from answers.reports.report import Report
from answers.reports.rows import Row
from cli.common.printable import one_line

__all__ = ["page_of"]

ROOM: Final = "cli.report"


def page_of(answer: Report) -> str:
    """The whole file. Its numbers are those of `Report.plain`."""
    style = _file("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = _environment().get_template("page.html")
    text = page.render(
        report=answer,
        style=Markup(style),  # noqa: S704  the file is ours
        digest=digest,
    )
    return text.encode("ascii", "xmlcharrefreplace").decode()


def _longest(rows: Sequence[Row]) -> int:
    """What the longest bar of these rows stands for, in pods."""
    return max((max(row.schedulers, row.served_nobody, row.ours) for row in rows), default=0)


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        finalize=_shown,
        loader=FunctionLoader(_file),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"part": _part, "longest": _longest}
    return environment


def _file(name: str) -> str:
    return resources.files(ROOM).joinpath(name).read_text(encoding="utf-8")


def _shown(value: Any) -> Any:
    """A value as it gets into the page. Markup is what a macro has made of escaped values."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return one_line(value)
    return value


def _part(number: int, whole: int) -> str:
    """The length of a bar whose greatest length is 100."""
    return f"{100 * number / whole:.2f}" if whole else "0"
