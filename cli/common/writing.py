"""Standard output that cannot be written ends the process with one line and status 2: a closed pipe, a full disk."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["OutputLost", "writing"]

STDOUT: Final = 1
LOST: Final = 2
"""The exit status. It is that of bad input, too: the caller has to change something."""


class OutputLost(Exception):
    """Standard output cannot be written. It is no OSError, so nobody takes it for another fault."""


@contextmanager
def writing() -> Iterator[None]:
    """Within this context, standard output raises OutputLost, and at its end the process ends if that was raised.

    It is for the main function of a process: standard output is replaced.
    """
    sys.stdout = _checked(sys.stdout)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OutputLost as lost:
        # What is left in the buffer goes nowhere. Otherwise the interpreter complains when it flushes it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
        print(f"Error: standard output: {lost}", file=sys.stderr)
        sys.exit(LOST)


def _checked(stream: TextIO | None) -> TextIO:
    """The same stream, whose writes raise OutputLost. A stream that is not there (None) was closed by the caller."""
    encoding = "utf-8" if stream is None else stream.encoding
    # What the encoding does not have is escaped. It would end the command in the middle of its answer.
    errors = "strict" if stream is None else "backslashreplace"
    raw = _Raw(STDOUT, "wb", closefd=False) if stream is not None else _Closed()
    checked = io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors)
    checked.reconfigure(line_buffering=checked.isatty())
    return checked


class _Raw(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            raise OutputLost(error.strerror or str(error)) from None


class _Closed(io.RawIOBase):
    said = False
    """Whether the process knows already."""

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        if self.said:
            return memoryview(data).nbytes
        self.said = True
        raise OutputLost(os.strerror(errno.EBADF))
