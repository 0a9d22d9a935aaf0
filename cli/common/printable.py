"""The one place where text gets to a terminal: no control character of a value gets there with it.

Names, messages and annotations come from whoever may write to the cluster. A control character in them could move the
cursor, hide text or change its direction. It is shown as Python and JSON write it: `\\x1b`, `\\u202e`.

There are two layers (decision 0092). `say`, `complain` and `on_one_line` get one line each, so a newline in a value
cannot begin a line of ours. `guarding` looks at everything else that is written, such as the help of click.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

import click
from rich.text import Text

if TYPE_CHECKING:
    from structlog.typing import EventDict

__all__ = [
    "before_writing",
    "complain",
    "guarding",
    "in_json",
    "in_yaml",
    "on_one_line",
    "one_line",
    "safe_event",
    "say",
    "say_lines",
    "unguarded",
]

SUSPECT: Final = re.compile(r"[^ -~]")
SUSPECT_BUT_LAYOUT: Final = re.compile(r"[^ -~\n\t]")
TRACE: Final = "exception"
"""What structlog calls a traceback, which has lines."""


def printable(text: str) -> str:
    """The text, with all characters escaped that cannot be printed, but for newlines and tabs."""
    return text if text.isprintable() else SUSPECT_BUT_LAYOUT.sub(_escaped, text)


def one_line(text: str) -> str:
    """The text, with all characters escaped that cannot be printed. It has no newline that could begin a line."""
    return text if text.isprintable() else SUSPECT.sub(_escaped, text)


def on_one_line(text: Text) -> Text:
    """As `one_line`, with the styles of the text."""
    if text.plain.isprintable():
        return text
    safe, begin = text[:0], 0
    for found in SUSPECT.finditer(text.plain):
        if not found.group().isprintable():
            styles = text[found.start() : found.end()].spans
            safe.append_text(text[begin : found.start()])
            safe.append(_escaped(found), styles[-1].style if styles else None)
            begin = found.end()
    return safe.append_text(text[begin:])


def in_json(text: str) -> str:
    """JSON, with all characters escaped that cannot be printed. Its values are the same."""
    return text if text.isprintable() else SUSPECT_BUT_LAYOUT.sub(_escaped_in_json, text)


def in_yaml(text: str) -> str:
    """As `in_json`, for YAML that has such characters between double quotes only."""
    return text if text.isprintable() else SUSPECT_BUT_LAYOUT.sub(_escaped_in_yaml, text)


def say(line: str) -> None:
    """Print a line to standard output."""
    click.echo(one_line(line))


def say_lines(text: str) -> None:
    """Print text that has lines and tabs of its own to standard output."""
    click.echo(printable(text), nl=False)


def complain(line: str) -> None:
    """Print a line to standard error."""
    click.echo(one_line(line), err=True)


def safe_event(_: object, __: str, event: EventDict) -> EventDict:
    """A processor of structlog for logs on a terminal. Values that are no texts are shown as Python writes them."""
    return {
        key: value if not isinstance(value, str) else printable(value) if key == TRACE else one_line(value)
        for key, value in event.items()
    }


@contextmanager
def guarding() -> Iterator[None]:
    """Within this context, standard output and standard error take no text that cannot be printed."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _guarded(before[0]), _guarded(before[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def unguarded(stream: TextIO) -> TextIO:
    """The stream for text that is safe already, and has colours."""
    if not isinstance(stream, _Guarded):
        return stream
    stream.before()
    return stream.stream


def nothing() -> None:
    """What is done before a write if nobody says otherwise."""


def before_writing(*, out: Callable[[], None] = nothing, err: Callable[[], None] = nothing) -> None:
    """Within `guarding`: do this before anything is written to standard output, and to standard error."""
    for stream, do in ((sys.stdout, out), (sys.stderr, err)):
        if isinstance(stream, _Guarded):
            stream.before = do


class _Guarded:
    """A stream that escapes what cannot be printed. All else is that of the stream."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.before: Callable[[], None] = nothing

    @property
    def encoding(self) -> str:
        """That of the stream. click does not use a stream that has ASCII alone, but what is below it."""
        encoding = self.stream.encoding or "utf-8"
        return encoding if codecs.lookup(encoding).name != "ascii" else "iso8859-1"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Returns the number of characters that were given."""
        self.before()
        self.stream.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """As `write`."""
        for line in lines:
            self.write(line)


def _guarded(stream: TextIO | None) -> TextIO:
    """None, a stream that the caller has closed, stays None."""
    return cast(TextIO, stream if stream is None or isinstance(stream, _Guarded) else _Guarded(stream))


def _escaped(found: re.Match[str]) -> str:
    char = found.group()
    return char if char.isprintable() else char.encode("unicode_escape").decode()


def _escaped_in_json(found: re.Match[str]) -> str:
    char = found.group()
    return char if char.isprintable() else json.dumps(char)[1:-1]


def _escaped_in_yaml(found: re.Match[str]) -> str:
    char = found.group()
    return char if char.isprintable() else f"\\U{ord(char):08x}"
