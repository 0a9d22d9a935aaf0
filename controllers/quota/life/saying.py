"""When a Workload says why it waits. What passes by itself is said after a while: most Workloads have quota by then.

Each text is a write, which costs the API server as much as an admission. `reprieve queue`, `reprieve why` and the
metrics need no text.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from api.multikueue import ORIGIN_LABEL
from api.workloads import QUOTA_RESERVED, Workload
from controllers.quota.life.admitting import wait
from controllers.quota.life.draft import Draft
from controllers.quota.life.preempting import WAITS, Preempting
from quota.state.amounts import QuotaError
from quota.state.workloads import time_us

__all__ = ["Waiting", "say", "says_from"]

PASSES: Final = frozenset({"WaitingForQuota", WAITS})
"""The reasons that pass by themselves, except for a preemptor. All others name somebody who has to act, or say that it
is for good."""
NOTHING_SAID: Final = frozenset({"Pending", "PendingEvaluation"})
"""Reasons of QuotaReserved=False that the end of an eviction leaves. They say nothing of why the Workload waits."""


class Waiting(NamedTuple):
    """Why a Workload waits, as the last cycle said it."""

    reason: str
    message: str
    gated: bool = False
    of_equal: bool = False
    """An equal Workload got this answer. A text that it has for the same reason tells more."""
    preempts: bool = False
    """It is a preemptor. Without that, it may also wait for victims of others."""


def says_from(workload: Workload, waiting: Waiting, patience: int) -> int:
    """From when on the Workload says this, in microseconds since 1970; 0: at once. `patience`: in microseconds.

    What it says already is replaced at once. Of a copy, its manager waits for the reason: it opens a gate then.
    """
    passes = waiting.reason in PASSES and not (waiting.gated or waiting.preempts)
    if not passes or ORIGIN_LABEL in (workload.metadata.labels or {}):
        return 0
    conditions = workload.status.conditions or ()
    before = next((each for each in conditions if each.type == QUOTA_RESERVED), None)
    if before is not None and before.status == "False" and before.reason not in NOTHING_SAID:
        return 0
    since = before.last_transition_time if before is not None else workload.metadata.creation_timestamp
    try:
        return time_us(since, "lastTransitionTime") + patience if since is not None else 0
    except QuotaError:
        return 0


def say(
    draft: Draft, waiting: Waiting, preempting: Preempting | None, *, written: int, patience: int, pause: int
) -> None:
    """Say why the Workload waits. `preempting`: its plan. `written`: when it said something last. `patience`: see
    `says_from`. `pause`: the least time between two texts of the same reason."""
    before = draft.condition(QUOTA_RESERVED)
    if before is not None and before.status == "False" and before.reason == waiting.reason:
        if before.message == waiting.message or waiting.of_equal:
            return
        due = written + pause
        if draft.now < due and not _announces(preempting, before.message):
            draft.look_again(due)
            return
    elif draft.now < (due := says_from(draft.workload, waiting, patience)):
        draft.look_again(due)
        return
    if not waiting.of_equal and (before is None or before.reason != waiting.reason):
        draft.event("Warning", waiting.reason, waiting.message)
    wait(draft, waiting.reason, waiting.message, gated=waiting.gated)


def _announces(plan: Preempting | None, said: str) -> bool:
    """Whether victims wait for the text to be written."""
    return plan is not None and plan.is_due and not said.endswith(plan.announcement)
