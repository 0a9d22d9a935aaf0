"""What a worker cluster made of what was written there. A policy or a webhook of that cluster may have changed it.

It would do so again: what is written once more, because it is not as it should be, is written for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import orjson

from api.multikueue import DISPATCHED_BY, FENCED_BY, ORIGIN_LABEL, PREBUILT_WORKLOAD_ANNOTATION
from api.workloads import DEACTIVATION_TARGET
from controllers.multikueue.clusters.objects import CopyObject, copy_of
from controllers.multikueue.life.belonging import has_other_priority
from controllers.multikueue.life.decision import (
    CloseGate,
    Deactivate,
    FenceCopy,
    OpenGate,
    SetPriority,
    There,
)
from controllers.multikueue.life.digests import digest
from controllers.multikueue.life.seen import Copy, Seen

__all__ = ["lost_mark", "lost_spec", "lost_write"]

Json = Mapping[str, Any]
MARKS: Final = (
    ("labels", ORIGIN_LABEL),
    ("annotations", DISPATCHED_BY),
    ("annotations", FENCED_BY),
    ("annotations", PREBUILT_WORKLOAD_ANNOTATION),
)
"""By these the manager finds what is its own."""


def lost_mark(sent: Json, answer: bytes) -> str:
    """The first mark of the manager that the object in the answer does not have as it was sent, or `spec.suspend` of a
    Job that would run at once; empty if there is none."""
    made = _object(answer)
    for part, name in MARKS:
        wanted = (sent["metadata"].get(part) or {}).get(name)
        if wanted is not None and (_part(made, "metadata", part)).get(name) != wanted:
            return f"metadata.{part}[{name}]"
    is_suspended = sent["spec"].get("suspend") is not True or _part(made, "spec").get("suspend") is True
    return "" if is_suspended else "spec.suspend"


def lost_spec(sent: Json, answer: bytes, *, has_gate: bool) -> str:
    """What differs in the spec of the copy in the answer; empty if nothing does. `has_gate`: it must have its gate."""
    made, spec = _copy(answer), sent["spec"]
    if made is None:
        return ""
    reference = spec.get("priorityClassRef") or {}
    name = f"{reference.get('kind', '')}/{reference.get('name', '')}" if reference else ""
    same = {
        "spec": made.digest == digest(spec),
        "spec.priority": (made.priority, made.priority_class) == (spec.get("priority"), name),
        "spec.active": made.active,
        "spec.preemptionGates": made.has_gate or not has_gate,
    }
    return next((field for field, is_same in same.items() if not is_same), "")


def lost_write(act: There, seen: Seen, answer: bytes, term: str) -> str:
    """The field that the act wrote, if the copy in the answer does not have it as it was written; else empty. What
    comes later does not count: others write, too.

    `term`: that of this leader, as copies have it.
    """
    copy = _copy(answer)
    return "" if copy is None else _lost(act, seen, copy, term)


def _copy(answer: bytes) -> Copy | None:
    """None if it cannot be read: the watch shows what it is."""
    try:
        return copy_of(msgspec.json.decode(answer, type=CopyObject))
    except (ValueError, RecursionError):
        return None


def _lost(act: There, seen: Seen, copy: Copy, term: str) -> str:
    match act:
        case SetPriority():
            is_other = seen.workload is not None and has_other_priority(copy, seen.workload)
            return "spec.priority" if is_other else ""
        case OpenGate() | CloseGate():
            is_open = copy.gate == "Open"
            return "status.preemptionGates" if is_open != isinstance(act, OpenGate) else ""
        case FenceCopy():
            return f"metadata.annotations[{FENCED_BY}]" if copy.fenced_by != term else ""
        case Deactivate():
            return "status.conditions" if not copy.is_true(DEACTIVATION_TARGET) else ""
        case _:
            return ""


def _object(answer: bytes) -> Json:
    try:
        found = orjson.loads(answer)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _part(of: Json, *names: str) -> Json:
    """The object at this path; empty if there is none."""
    for name in names:
        found = of.get(name)
        of = found if isinstance(found, dict) else {}
    return of
