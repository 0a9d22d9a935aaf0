"""`--jsonl`: reads one request from each line and writes one answer a line, in the same order."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from answers.errors import InputError
from api.meta import Struct
from api.progress import Progress, silent
from api.validation import FieldError, explain
from cli.common.files import STDIN
from cli.common.printable import complain, in_json
from cli.common.progress import showing

__all__ = ["answer_each", "answer_file", "read_line"]

T = TypeVar("T", bound=msgspec.Struct)

log = logging.getLogger(__name__)

Answer = Callable[[bytes], Mapping[str, Any]]
"""Answers a line, without its id. Raises InputError or FieldError."""


class Identified(Struct):
    """The part of a request that the answer repeats."""

    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def answer_file(path: str, answer: Answer) -> bool:
    """Answer every line of a file on standard output; `-` is standard input. Returns whether no line had an error."""
    out = sys.stdout.buffer
    try:
        with showing(alone=True) as progress:
            if path == STDIN:
                return answer_each(sys.stdin.buffer, out, answer, progress)
            with Path(path).open("rb") as lines:
                return answer_each(lines, out, answer, progress)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        complain(f"Error: {path}: {error.strerror}")
        return False


def answer_each(lines: Iterable[bytes], out: BinaryIO, answer: Answer, progress: Progress = silent) -> bool:
    """Answer every line, or say what is wrong with it. Returns whether no line had an error."""
    complete = True
    for number, line in enumerate(lines, start=1):
        progress("answering lines", number)
        identifier: Any = None
        try:
            identifier = _identifier(line)
            answered = {"id": identifier, **answer(line)}
        except RecursionError:
            complete, answered = False, {"id": identifier, "error": "is nested too deeply"}
        except (InputError, FieldError) as error:
            complete, answered = False, {"id": identifier, "error": str(error)}
        except Exception as error:
            # A fault in one line, even one of ours, must not take away the answers of the other lines.
            log.exception("line failed")
            complete, answered = False, {"id": identifier, "error": f"internal error: {error!r}"}
        out.write(in_json(msgspec.json.encode(answered).decode()).encode() + b"\n")
        out.flush()
    return complete


def read_line(line: bytes, kind: type[T]) -> T:
    """The line as this struct. Raises InputError or FieldError."""
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.ValidationError as error:
        raise _explained(error, line, kind) from None


def _identifier(line: bytes) -> Any:
    """The id of the line. A number keeps the digits that it came with."""
    try:
        line.decode()
        raw = read_line(line, Identified).id
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start + 1})") from None
    except msgspec.DecodeError as error:
        raise InputError(f"is not JSON: {error}") from None
    if raw is msgspec.UNSET:
        raise FieldError("id", "is missing")
    text = bytes(raw)
    if text[:1] not in b'"-0123456789':
        raise FieldError("id", "expected a string or a number")
    return msgspec.json.decode(text, type=str) if text.startswith(b'"') else raw


def _explained(error: msgspec.ValidationError, line: bytes, expected: type[msgspec.Struct]) -> Exception:
    """What is wrong with a field, or with the line.

    A line can be of the wrong type and not be JSON. The decoder reports the type first, so this checks the rest.
    """
    try:
        document = msgspec.json.decode(line)
    except msgspec.DecodeError as malformed:
        return InputError(f"is not JSON: {malformed}")
    return explain(error, document, expected)
