"""What of a text a terminal gets. tests/property/test_printable.py asks all commands."""

from __future__ import annotations

import io
import sys

import pytest
import structlog
from rich.text import Text

from cli.common.printable import (
    before_writing,
    guarding,
    on_one_line,
    one_line,
    safe_event,
    unguarded,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b\u65e5\u00e9\U0001f600", "a b\u65e5\u00e9\U0001f600"),
        ("\x1b[31m\x07\x7f\x9b", r"\x1b[31m\x07\x7f\x9b"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\u202e\u2066\u200e\u200f\u061c", r"\u202e\u2066\u200e\u200f\u061c"),
        ("\u2028\u2029\x85", r"\u2028\u2029\x85"),
        ("\u200b\u00ad\ufeff\U000e0041", r"\u200b\xad\ufeff\U000e0041"),
        ("\udcff", r"\udcff"),
        ("C:\\new", r"C:\new"),
    ],
)
def test_what_is_escaped(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_styles_stay_where_they_were() -> None:
    text = on_one_line(Text.assemble("a\x1b", ("b\x1bc", "bold"), "d"))
    assert text.plain == r"a\x1bb\x1bcd"
    assert [(span.start, span.end) for span in text.spans if span.style == "bold"] == [
        (5, 6),
        (6, 10),
        (10, 11),
    ]


def test_streams_are_guarded_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    done = []
    with guarding(), guarding():
        before_writing(out=lambda: done.append("out"), err=lambda: done.append("err"))
        assert sys.stdout.write("a\x1b[1m\n") == 6
        sys.stderr.writelines(["b\x9b\n", "c\td\n"])
        unguarded(sys.stderr).write("\x1b[1me")
        assert not sys.stdout.isatty()
    assert (sys.stdout, sys.stderr) == streams
    assert streams[0].getvalue() == "a\\x1b[1m\n"
    assert streams[1].getvalue() == "b\\x9b\nc\td\n\x1b[1me"
    assert done == ["out", "err", "err", "err"]


def test_a_log_on_a_terminal() -> None:
    render = structlog.dev.ConsoleRenderer(colors=False)
    event = {
        "event": "a\x1b[2J\nb",
        "name": "c\x9b",
        "number": 3,
        "list": ["\x1b"],
        "exception": "one\n two\x1b",
    }
    line = render(None, "info", safe_event(None, "info", event))
    assert isinstance(line, str)
    assert "\x1b" not in line
    assert line.splitlines()[-2:] == ["one", r" two\x1b"]
    assert r"a\x1b[2J\nb" in line
    assert "number=3" in line
