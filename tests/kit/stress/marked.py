"""Plan, mark, deletion: is each there before the next? Each check takes a history and returns what is wrong.

A mark is the condition DisruptionTarget that reprieve gives to a victim.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise, zip_longest
from typing import Final

from tests.kit.stress.evictions import evicted_by, plans_with
from tests.kit.stress.history import Asked, History, State, is_alive, name_of

__all__ = ["CHECKS"]

SIGNED: Final = re.compile(r" \[term \d+ of ([^\]]+)\]$")
"""kube-scheduler gives its own victims a condition of the same reason. Ours says which term wrote it."""

LATE_SECONDS: Final = 5.0
"""Longer than a request is on its way."""


def deletions_without_mark(history: History) -> list[str]:
    """Pods that had no mark when they were deleted."""
    return [
        f"pod {asked.namespace}/{asked.name} was deleted without a mark"
        for asked in history.deletions
        if (last := _last_alive(history, asked)) is not None and not _mark(last)
        if history.knows("Pod", asked.uid, last.version, math.inf)
    ]


def deletions_of_another_mark(history: History) -> list[str]:
    """Deletions that were asked for in another version of the pod than the one with its last mark."""
    wrong = []
    for asked in history.deletions:
        last = _last_alive(history, asked)
        if last is None or not _mark(last) or not history.knows("Pod", asked.uid, last.version, math.inf):
            continue
        meant = next(
            (each for each in history.of("Pod", asked.uid) if str(each.version) == asked.version), None
        )
        if meant is None and asked.version and not history.knows("Pod", asked.uid, 0, last.version):
            continue  # nobody saw the version
        if meant is None or _mark(meant) != _mark(last):
            wrong.append(
                f"pod {asked.namespace}/{asked.name} was deleted in version {asked.version or 'any'}, "
                f"and its last mark is another one"
            )
    return wrong


def marks_without_plan(history: History) -> list[str]:
    """Marks that were made before any plan evicted the pod. One that comes late, after its plan has ended, is
    withdrawn: that is looked at when everything is at rest."""
    wrong = []
    for uid, states in history.states["Pod"].items():
        before = ""
        for state in states:
            mark = _mark(state)
            is_new = mark and mark != before and is_alive(state)
            if is_new and not _may_be_evicted(history, uid, state.version):
                meta = state.body["metadata"]
                wrong.append(f"pod {meta['namespace']}/{meta['name']} was marked, and no plan evicted it")
            before = mark
    return wrong


def marks_without_lease(history: History) -> list[str]:
    """Marks whose holder had lost the Lease long before.

    A write that was on its way comes a little late. A deletion that follows it then fails. Holders tell terms apart,
    and numbers do not: where the Lease is deleted, and nobody is left who knew it, they begin again.
    """
    wrong = []
    for states in history.states["Pod"].values():
        before = ""
        for state in states:
            mark = _mark(state)
            signed = SIGNED.search(mark)
            if signed is not None and mark != before and _has_lost_the_lease(history, signed[1], state.at):
                wrong.append(f"pod {name_of(state.body)} was marked by a term that ended long before")
            before = mark
    return wrong


def _has_lost_the_lease(history: History, holder: str, at: float) -> bool:
    """Whether the Lease has not named the holder for a while. False for a holder that it has never named: a process
    without an election has none."""
    ends = [
        after.at if after is not None else math.inf
        for states in history.states["Lease"].values()
        for state, after in zip_longest(states, states[1:])
        if not state.gone and state.at <= at and state.body["spec"].get("holderIdentity") == holder
    ]
    return bool(ends) and max(ends) + LATE_SECONDS < at and not _was_blind(history, at)


def _was_blind(history: History, at: float) -> bool:
    """Whether the Lease may have named somebody whom nobody saw, a while before a time or since then."""
    first, last = history.version_at(at - LATE_SECONDS), history.version_at(at)
    return any(gap.kind == "Lease" and gap.first < last and first < gap.last for gap in history.gaps)


def marks_that_others_removed(history: History) -> list[str]:
    """Marks of pods that stay which we have not withdrawn in two minutes.

    Then the disruption controller sets the condition to False. We remove it.
    """
    return [
        f"pod {name_of(state.body)} kept its mark until the disruption controller took it off"
        for states in history.states["Pod"].values()
        for before, state in pairwise(states)
        if _mark(before) and is_alive(state) and _is_taken_off(state)
    ]


def _is_taken_off(state: State) -> bool:
    conditions = state.body.get("status", {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("DisruptionTarget", "False") for each in conditions)


CHECKS: Final[tuple[Callable[[History], list[str]], ...]] = (
    deletions_without_mark,
    deletions_of_another_mark,
    marks_without_plan,
    marks_without_lease,
    marks_that_others_removed,
)


def _may_be_evicted(history: History, uid: str, version: int) -> bool:
    """Whether a plan evicted the pod at this version or before, or may have done so in a gap of the history."""
    if evicted_by(history, uid, version) or not history.has_gap(0, version):
        return evicted_by(history, uid, version)
    plans = [plan["metadata"]["uid"] for plan in plans_with(history, uid)]
    return not plans or not all(history.knows("PreemptionPlan", each, 0, version) for each in plans)


def _last_alive(history: History, asked: Asked) -> State | None:
    """The pod as it was right before it began to terminate or was gone; None if the watch never told it."""
    alive = [state for state in history.of("Pod", asked.uid) if is_alive(state)]
    return alive[-1] if alive else None


def _mark(state: State) -> str:
    """The mark of a pod as a text; empty if it has none."""
    for each in state.body.get("status", {}).get("conditions") or ():
        is_mark = each["type"] == "DisruptionTarget" and each["status"] == "True"
        if is_mark and SIGNED.search(message := each.get("message", "")):
            return str(message)
    return ""
