"""Conditions (meta/v1) as they are written."""

from __future__ import annotations

from typing import Any

import msgspec

from api.meta import Condition
from api.times import instant, rfc3339

__all__ = ["condition_json", "dated"]


def dated(condition: Condition, before: Condition | None, now: float) -> Condition:
    """The condition with the time since which it has its status. `now`: seconds since 1970.

    Only a new status is a transition; a new reason or message is not. `before`: the condition that the object has. A
    time in it that cannot be read does not count.
    """
    since = before.last_transition_time if before is not None and before.status == condition.status else None
    if since is None or instant(since) is None:
        since = rfc3339(now)
    return msgspec.structs.replace(condition, last_transition_time=since)


def condition_json(condition: Condition) -> dict[str, Any]:
    """The condition in JSON form. CRDs require reason and message, even if they are empty."""
    written: dict[str, Any] = msgspec.to_builtins(condition)
    return {"reason": "", "message": ""} | written
