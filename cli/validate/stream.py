"""`reprieve validate --jsonl`: reads a request from each line and answers with a verdict."""

from __future__ import annotations

from typing import Any, Literal

from api.meta import Struct
from api.validation import FieldError
from cli.common.lines import read_line
from cli.validate.verdicts import JUDGED, Context, Write, verdict
from schema import KNOWN

__all__ = ["judge_line"]


class Line(Struct):
    """A request as a client sends it. `object` is the whole object, `oldObject` is the stored one."""

    kind: str
    operation: Literal["CREATE", "UPDATE"]
    object: dict[str, Any]
    subresource: Literal["", "status"] | None = None
    old_object: dict[str, Any] | None = None


def judge_line(line: bytes, context: Context) -> dict[str, Any]:
    """The verdict on the request in this line. Raises InputError or FieldError."""
    request = read_line(line, Line)
    _check(request)
    found = verdict(
        Write(request.kind, request.object, request.old_object, request.subresource or ""), context
    )
    return {
        "allowed": found.allowed,
        "causes": [{"field": cause.field, "type": cause.type} for cause in found.causes],
        "warnings": list(found.warnings),
    }


def _check(request: Line) -> None:
    """Raises FieldError if the line is not a valid request."""
    if request.kind not in JUDGED:
        raise FieldError("kind", f"not one of {', '.join(sorted(JUDGED))}: {request.kind!r}")
    if (request.operation == "UPDATE") != (request.old_object is not None):
        missing = request.operation == "UPDATE"
        raise FieldError(
            "oldObject", "is missing" if missing else "must not be set if the operation is CREATE"
        )
    if request.subresource:
        if request.operation == "CREATE":
            raise FieldError("subresource", "cannot be created")
        if request.kind not in KNOWN or not KNOWN[request.kind].has_status:
            raise FieldError("subresource", f"{request.kind} has no subresource here")
