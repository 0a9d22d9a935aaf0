"""`reprieve plan --jsonl`: one request a line in, one plan a line out, in order."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, BinaryIO

import msgspec

from api.meta import Struct
from api.validation import FieldError, explain
from cli.objects import InputError, JsonDocument, Objects
from cli.offline import decide, plain

__all__ = ["run"]

log = logging.getLogger(__name__)


class Identified(Struct):
    """The part of a request that is echoed."""

    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Request(Struct):
    """A line: plan for the PodGroup `for` among these objects."""

    objects: list[msgspec.Raw]
    for_: str = msgspec.field(name="for")


def run(lines: Iterable[bytes], out: BinaryIO) -> bool:
    """Answer every line with a plan or, in its place, an error. Whether all of them got a plan."""
    complete = True
    for line in lines:
        identifier: Any = None
        try:
            identifier = _identifier(line)
            answer = {"id": identifier, **_plan(line)}
        except RecursionError:
            complete, answer = False, {"id": identifier, "error": "is nested too deeply"}
        except (InputError, FieldError) as error:
            complete, answer = False, {"id": identifier, "error": str(error)}
        except Exception as error:
            # One line's fault, even if it is ours, must not cost the other lines their plans.
            log.exception("line failed")
            complete, answer = False, {"id": identifier, "error": f"internal error: {error!r}"}
        out.write(msgspec.json.encode(answer) + b"\n")
        out.flush()
    return complete


def _identifier(line: bytes) -> Any:
    """The line's id, numbers digit for digit as they came."""
    try:
        line.decode()
        raw = msgspec.json.decode(line, type=Identified).id
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start + 1})") from None
    except msgspec.ValidationError as error:
        raise _explained(error, line, Identified) from None
    except msgspec.DecodeError as error:
        raise InputError(f"is not JSON: {error}") from None
    if raw is msgspec.UNSET:
        raise FieldError("id", "is missing")
    text = bytes(raw)
    if text[:1] not in b'"-0123456789':
        raise FieldError("id", "expected a string or a number")
    return msgspec.json.decode(text, type=str) if text.startswith(b'"') else raw


def _explained(error: msgspec.ValidationError, line: bytes, expected: type[msgspec.Struct]) -> Exception:
    """What is wrong with a field; or with the line, which was found to be of the wrong type before its end was seen."""
    try:
        document = msgspec.json.decode(line)
    except msgspec.DecodeError as malformed:
        return InputError(f"is not JSON: {malformed}")
    return explain(error, document, expected)


def _plan(line: bytes) -> dict[str, Any]:
    try:
        request = msgspec.json.decode(line, type=Request)
    except msgspec.ValidationError as error:
        raise _explained(error, line, Request) from None
    objects = Objects()
    for index, raw in enumerate(request.objects):
        objects.add(JsonDocument(raw), f"objects[{index}]")
    spec, _ = decide(objects, request.for_)
    return plain(spec)
