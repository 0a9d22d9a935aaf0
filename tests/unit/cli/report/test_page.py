"""The page of a report: it shows what JSON has, and nothing that a name says can act."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from answers.reports.report import BY, By, Report
from api.instead import Costs
from api.plans import PreemptionPlan
from cli.common.printable import one_line
from cli.main import reprieve
from cli.report.page import page_of
from tests.kit.observed_plans import DAY, NOW, plan, reported

VOID: Final = {"meta", "input", "br", "hr", "img", "link"}
TAGS: Final = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "section",
        "h1",
        "h2",
        "p",
        "ul",
        "li",
        "time",
    ),
    *(
        "dl",
        "div",
        "dt",
        "dd",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "bdi",
        "span",
        "svg",
        "rect",
    ),
}
ATTRIBUTES: Final = {
    *(
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "id",
        "class",
        "role",
        "tabindex",
        "scope",
        "viewbox",
    ),
    *("aria-labelledby", "aria-hidden", "focusable", "preserveaspectratio", "x", "y", "width", "height"),
}
POLICY: Final = re.compile(
    r"default-src 'none'; style-src '(sha256-[A-Za-z0-9+/=]+)'; base-uri 'none'; form-action 'none'"
)


class Page(HTMLParser):
    """What a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.cells: list[list[str]] = []
        """The cells of all rows of all tables."""
        self.names: list[str] = []
        self.style = self.text = ""
        self.tables: dict[str, list[list[str]]] = {}
        """The rows of each table, by the id of its caption. The first one is its head."""
        self._open: list[str] = []
        self._id = ""
        self.feed(text)
        self.close()
        assert self._open == [], "each element ends"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "caption":
            self._id = dict(attrs)["id"] or ""
            self.tables[self._id] = []
        if tag == "tr":
            self.tables[self._id].append([])
        if tag in ("th", "td"):
            self.tables[self._id][-1].append("")
        if tag == "bdi":
            self.names.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            self.style += data
            return
        self.text += data
        if "bdi" in self._open:
            self.names[-1] += data
        if {"th", "td"} & set(self._open):
            self.tables[self._id][-1][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a processing instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    def rows(self, table: str) -> list[list[str]]:
        """Without the head, and without the cells that have bars only."""
        head, *rows = self.tables[table]
        return [
            [cell.strip() for name, cell in zip(head, row, strict=True) if name not in ("bar", "bars")]
            for row in rows
        ]


PIECES: Final = st.sampled_from(
    [
        *("<script>alert(1)</script>", "</style>", "</title>", "<!--", "-->", "<img src=x onerror=alert(1)>"),
        *(
            '" onload="alert(1)',
            "' autofocus onfocus='x",
            "{{ 7*7 }}",
            "{% raw %}",
            "&lt;",
            "&#60;",
            "]]>",
            "<?x",
        ),
        *(
            "//example.test/x",
            "javascript:alert(1)",
            "url(x)",
            "@import",
            "\u202e",
            "\x00",
            "\x1b[2J",
            "\r\n",
            "\ufeff",
        ),
    ]
)
NAMES: Final = st.lists(
    PIECES | st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=4
)
"""Lists of texts that make up a name: what a browser would take for more than a name, and any characters."""


AMOUNTS: Final = st.dictionaries(
    st.sampled_from(["cpu", "nvidia.com/gpu", "memory"]) | NAMES.map("".join),
    st.integers(-9, 10**6),
    max_size=3,
)
COSTS: Final = st.builds(
    Costs, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, st.integers(0, 9), st.integers(0, 9)
)


@st.composite
def plans(draw: st.DrawFn) -> list[PreemptionPlan]:
    """Some plans of hostile names and any numbers."""
    made = []
    for number in range(draw(st.integers(1, 4))):
        pods = draw(st.integers(0, 50))
        said: dict[str, Any] = {"pods": pods, "served_nobody": draw(st.integers(0, pods))}
        if draw(st.booleans()):
            said |= {"bound": True, "seconds_until_bound": draw(st.integers(0, 9000))}
        said["state"] = draw(st.sampled_from(["Same", "Same", "Changed", "Unknown"]))
        said["concluded"] = draw(st.booleans())
        said["groups_broken"] = draw(st.integers(0, 5))
        said["in_pieces_seconds"] = draw(st.integers(0, 900))
        said["in_pieces"] = said["in_pieces_seconds"] > 0
        if draw(st.booleans()):
            said["costs"] = draw(COSTS)
        made.append(
            plan(
                number,
                age=draw(st.floats(0, 6 * DAY)),
                namespace="".join(draw(NAMES)),
                gang="".join(draw(NAMES)),
                ours=draw(st.integers(0, 3)),
                **said,
            )
        )
    return made


PRICES: Final = st.dictionaries(
    st.sampled_from(["cpu", "nvidia.com/gpu", "memory"]), st.decimals(0, 1000, places=3), max_size=2
)


def links(page: Page) -> Iterator[str]:
    """Whatever could make a browser load or run something."""
    for tag, attributes in page.tags:
        if tag not in TAGS:
            yield tag
        for name, value in attributes.items():
            if name not in ATTRIBUTES:
                yield f"{tag} {name}={value}"
            if name == "http-equiv" and value != "Content-Security-Policy":
                yield f"{tag} {name}={value}"
    for word in ("url(", "@import", "image-set(", "expression("):
        if word in page.style:
            yield word


@settings(max_examples=60, deadline=None)
@given(plans(), st.sampled_from(BY))
def test_hostile_names_are_whole_and_do_nothing(some: list[PreemptionPlan], by: By) -> None:
    answer = reported(*some, by=by, prices={"cpu": Decimal(1)})
    text = page_of(answer)
    page = Page(text)
    assert text.isascii()
    assert list(links(page)) == []
    assert page.style == Page(page_of(reported())).style, "no name gets into the style sheet"
    same = [
        each for each in some if each.status and each.status.instead and each.status.instead.state == "Same"
    ]
    for each in some:
        assert one_line(each.metadata.namespace) in page.names
    assert len(same) == len(answer.dearest)
    for dear in answer.dearest:
        assert {one_line(dear.preemptor), one_line(dear.plan)} <= set(page.names)


@pytest.mark.parametrize("answer", [reported(), reported(plan(pods=3))])
def test_the_policy_allows_the_style_sheet_alone(answer: Report) -> None:
    page = Page(page_of(answer))
    head = [attributes for tag, attributes in page.tags if tag == "meta"]
    assert head[0] == {"charset": "utf-8"}
    assert head[1]["http-equiv"] == "Content-Security-Policy", "it comes before all that it is about"
    found = POLICY.fullmatch(head[1]["content"])
    assert found
    digest = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    assert found[1] == f"sha256-{digest}"


def numbers(row: dict[str, Any]) -> list[str]:
    """The cells that show a row of JSON."""
    scheduler = row["scheduler"]
    middle = scheduler["medianSecondsUntilBound"]
    return [
        one_line(row["name"]).strip(),
        f"{row['compared']} of {row['decisions']}",
        str(row["ours"]["pods"]),
        *(
            str(scheduler[key])
            for key in ("pods", "servedNobody", "groupsBroken", "inPieces", "inPiecesSeconds")
        ),
        str(scheduler["bound"]),
        "" if middle is None else f"{middle:.0f}",
    ]


def dear_cells(each: dict[str, Any], *, priced: bool) -> list[str]:
    """The cells that show a decision of JSON."""
    scheduler = each["scheduler"]
    until = scheduler["secondsUntilBound"]
    cost = each["cost"] or {"hours": None, "money": None}
    return [
        one_line(each["preemptor"]).strip(),
        *(str(value) for value in (each["priority"], each["decided"], each["ours"]["pods"])),
        *(str(scheduler[key]) for key in ("pods", "servedNobody", "groupsBroken", "inPiecesSeconds")),
        "" if until is None else str(until),
        "yes" if each["open"] else "no",
        "" if cost["hours"] is None else f"{cost['hours']:.2f}",
        *([cost["money"] or ""] if priced else []),
        one_line(each["plan"]).strip(),
    ]


@settings(max_examples=40, deadline=None)
@given(plans(), st.sampled_from(["priority", "gang"]), PRICES)
def test_the_page_and_json_have_equal_numbers(
    some: list[PreemptionPlan], by: By, prices: dict[str, Decimal]
) -> None:
    answer = reported(*some, by=by, prices=prices)
    data, page = json.loads(msgspec.json.encode(answer.plain())), Page(page_of(answer))
    days = [numbers(row) for row in data["days"]]
    assert page.rows("days-victims") == [row[:5] for row in days]
    assert page.rows("days-gangs") == [[row[0], *row[5:]] for row in days]
    assert page.rows("namespaces-table") == [numbers(row) for row in data["namespaces"]]
    assert page.rows("rows-table") == [numbers(row) for row in data["rows"]]
    assert page.rows("waits-table") == [[each["name"], str(each["decisions"])] for each in data["waits"]]
    dearest = [dear_cells(each, priced=bool(prices)) for each in data["dearest"]]
    assert page.rows("dearest-table") == dearest
    lines = [*data["costs"]["lines"], data["costs"]["sum"]]
    shown = [[f"{each['hours']:.2f}", *([each["money"]] if prices else [])] for each in lines]
    assert [row[1:] for row in page.tables.get("costs-table", [])[1:]] == (
        shown if answer.total.compared else []
    )


def test_the_answer_and_what_is_not_known_stand_above_the_numbers() -> None:
    answer = reported(plan(pods=3, unattributed=1), plan(1, state="Unknown", concluded=False))
    text = Page(page_of(answer)).text
    assert len(answer.unknown) == 9
    places = [text.index(each) for each in (answer.answer, *answer.unknown, "In all", "By day")]
    assert places == sorted(places)


def test_a_page_without_decisions_says_so() -> None:
    page = Page(page_of(reported()))
    assert "No observed plan says yet" in page.text
    assert page.tables == {}


def test_the_fifty_dearest_decisions_are_named() -> None:
    answer = reported(*(plan(number, pods=number) for number in range(60)))
    rows = Page(page_of(answer)).rows("dearest-table")
    assert [int(row[4]) for row in rows] == list(range(59, 9, -1))


def test_times_until_bound_are_counted() -> None:
    seconds = [0, 9, 10, 59, 60, 599, 600, 3599, 3600]
    bound = [plan(number, bound=True, seconds_until_bound=each) for number, each in enumerate(seconds)]
    answer = reported(*bound, plan(20), plan(21, state="Changed"))
    assert [each.decisions for each in answer.waits] == [2, 2, 2, 2, 1, 1]


def colours(style: str) -> tuple[dict[str, str], dict[str, str]]:
    """Of light and of dark."""
    light, _, dark = style.partition("prefers-color-scheme: dark")
    found = re.compile(r"--([a-z]+): (#[0-9a-f]{6});")
    return dict(found.findall(light)), dict(found.findall(dark))


def brightness(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted([brightness(one), brightness(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_people_with_low_vision_can_read_it(scheme: int) -> None:
    """Text has the contrast of WCAG 2, level AAA; lines and bars that of graphics."""
    known = colours(Page(page_of(reported())).style)[scheme]
    assert set(known) == {"paper", "ink", "quiet", "line", "focus", "nobody", "ours"}
    for name, colour in known.items():
        if name != "paper":
            assert contrast(colour, known["paper"]) >= (7 if name in ("ink", "quiet") else 3), name


def test_the_command_prints_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.clock._SystemClock.wall", lambda _self: NOW)
    some = [plan(0, namespace="tëam", pods=3), plan(1, pods=1)]
    path = tmp_path / "plans.json"
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": some}))
    result = CliRunner(charset="ascii").invoke(reprieve, ["report", "-f", str(path), "-o", "html"])
    assert (result.exit_code, result.stdout) == (0, page_of(reported(*some)))
    assert "tëam" in Page(result.stdout).names
