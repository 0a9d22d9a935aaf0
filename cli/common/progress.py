"""Shows on a terminal what a command does that takes long. Nothing is shown otherwise."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from api.progress import Progress, silent
from cli.common.printable import before_writing, one_line, unguarded

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.spinner import Spinner

__all__ = ["showing"]

WAIT_SECONDS: Final = 2.0
"""A command that ends before shows nothing."""
PER_SECOND: Final = 5


@contextmanager
def showing(*, alone: bool = False) -> Iterator[Progress]:
    """What is reported inside is shown on standard error if that is a terminal, once it has taken long.

    Whatever is printed meanwhile takes the place of what is shown. After the first text on standard output nothing is
    shown any longer. `alone`: show nothing if standard output is a terminal, too.
    """
    if not sys.stderr.isatty() or (alone and sys.stdout.isatty()):
        yield silent
        return
    shown = _Shown()
    before_writing(out=shown.end, err=shown.pause)
    try:
        yield shown
    finally:
        before_writing()
        shown.end()


class _Shown:
    """One line with the last thing that was reported. A thread of rich draws it again and again."""

    def __init__(self) -> None:
        self._stream = unguarded(sys.stderr)
        self._last = ("working", 0, 0)
        self._live: Live | None = None
        self._lock = threading.Lock()
        self._timer = self._started()

    def __call__(self, what: str, done: int = 0, total: int = 0) -> None:
        """See `Progress`."""
        self._last = (what, done, total)

    def pause(self) -> None:
        """Take the line away, and show it again when it has taken long again."""
        with self._lock:
            if self._clear():
                self._timer = self._started()

    def end(self) -> None:
        """Take the line away for good."""
        with self._lock:
            self._timer.cancel()
            self._clear()

    def _started(self) -> threading.Timer:
        timer = threading.Timer(WAIT_SECONDS, self._show)
        timer.start()
        return timer

    def _show(self) -> None:
        # A command that is quick does not import these.
        from rich.console import Console  # noqa: PLC0415
        from rich.live import Live  # noqa: PLC0415
        from rich.spinner import Spinner  # noqa: PLC0415

        with self._lock:
            if self._timer.finished.is_set():  # it has ended meanwhile
                return
            console = Console(file=self._stream, highlight=False, markup=False, emoji=False)
            self._live = Live(
                console=console,
                get_renderable=partial(self._line, Spinner("line")),
                refresh_per_second=PER_SECOND,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start(refresh=True)
            # A process that is killed must not leave a terminal without a cursor.
            console.show_cursor(True)

    def _line(self, spinner: Spinner) -> RenderableType:
        from rich.text import Text  # noqa: PLC0415

        spinner.update(text=Text(one_line(_said(*self._last)), no_wrap=True, overflow="ellipsis"))
        return spinner

    def _clear(self) -> bool:
        """Whether there was a line."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()
        return live is not None


def _said(what: str, done: int, total: int) -> str:
    if not done:
        return what
    return f"{what}: {done:,} of {total:,}" if done <= total else f"{what}: {done:,}"
