"""`reprieve plan --jsonl`: reads a request from each line and answers with a plan."""

from __future__ import annotations

from typing import Any

import msgspec

from api.meta import Struct
from cli.common.documents import JsonDocument
from cli.common.lines import read_line
from cli.plan.objects import Objects
from cli.plan.offline import decide, plain

__all__ = ["PlanLines", "plan_line"]


class Request(Struct):
    """A line: plan for the PodGroup `for` among these objects."""

    objects: list[msgspec.Raw]
    for_: str = msgspec.field(name="for")


class PlanLines:
    """Answers lines, and remembers whether a plan was Blocked."""

    def __init__(self) -> None:
        self.any_blocked = False

    def __call__(self, line: bytes) -> dict[str, Any]:
        """The answer of `plan_line`."""
        plan = plan_line(line)
        self.any_blocked |= "status" in plan
        return plan


def plan_line(line: bytes) -> dict[str, Any]:
    """The PreemptionPlan for this request. Raises InputError or FieldError."""
    request = read_line(line, Request)
    objects = Objects()
    for index, raw in enumerate(request.objects):
        objects.add(JsonDocument(raw), f"objects[{index}]")
    spec, _ = decide(objects, request.for_)
    return plain(spec)
