"""What else is said of a group of kube-scheduler's own kind: who evicts for it, and when the scheduler tries it again.

Such a group is tried by its backoff only, and its PodGroup does not say how often it was tried. The process that
answers filter knows that, and stores the time of the next attempt with a plan by which the scheduler evicts. Where
nothing is stored there is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import UNSET

from api.groups import INITIALLY_SCHEDULED, PodGroup
from api.meta import Condition
from api.plans import PreemptionPlan
from api.times import parse_rfc3339
from api.waits import Wait
from api.words import counted
from nodes.answers.group_counts import GroupCounts
from nodes.groups.forms import ALL_PREEMPTING
from nodes.groups.keys import is_native_name
from nodes.groups.registry import GroupKey
from nodes.search.preemptors.preemptor import DecisionError, not_tried
from nodes.search.preemptors.trying import NotTried, longest_wait
from nodes.search.steering.words import evictor_words
from nodes.state.snapshot import Snapshot

__all__ = ["NativeSaid", "since_of", "with_scheduler"]

USUAL_BACKOFF: Final = 10.0
"""podMaxBackoffSeconds of a kube-scheduler whose configuration does not say it."""
AFTER_PLANNED: Final = ("Evicting", "Ready", "Bound")
GATED: Final = "SchedulingGated"
UNGATED: Final = "Right after its last scheduling gate has gone. The scheduler does not try a part of it."
OUR_GATE: Final = (
    "By kube-scheduler, right after reprieve has removed its scheduling gate from all members (planning.gates). "
    "Until then it does not try the group."
)
CHANGED: Final = "By kube-scheduler, once that has changed. Until then it does not try the group."
BY_RULE: Final = "kube-scheduler evicts for it by its own rule. reprieve plans nothing for it ({})."
OFF: Final = "planning.nativeGroups is Off"
NO_GANG: Final = "it is no gang"
NOT_SAID: Final = "the Lease of reprieve does not say that it plans for such groups"


@dataclass(frozen=True, slots=True)
class NativeSaid:
    """What the process says on its Lease that matters here."""

    mode: str = ""
    """`planning.nativeGroups`; empty if it does not say it."""
    max_backoff: float | None = None
    """podMaxBackoffSeconds of the scheduler's file that it has; None if it does not say it."""
    planning: str = ""
    """`planning.mode`; empty if it does not say it."""

    @property
    def plans(self) -> bool:
        """Whether it plans for such gangs. One that does not say it does not. All of them are observed."""
        return self.planning != "Off" and (self.planning == "Observe" or self.mode not in ("", "Off"))


@dataclass(frozen=True, slots=True)
class Asked:
    """A group that waits, and what is known."""

    group: PodGroup | None
    """Its form; None without its object."""
    plan: PreemptionPlan | None
    waiting: int
    """Members without a node."""
    said: NativeSaid
    now: float
    """In seconds since the epoch."""
    differs: NotTried | None
    """Why the scheduler does not try it; None if it does."""
    is_gated: bool
    """A member has the scheduling gate of reprieve."""


def with_scheduler(
    answer: Wait,
    key: GroupKey,
    group: PodGroup | None,
    plans: Sequence[PreemptionPlan],
    snapshot: Snapshot,
    said: NativeSaid,
    now: float,
) -> Wait:
    """The answer for the group, with what the scheduler does. `now`: in seconds since the epoch.

    The answers for other groups, and for those that do not wait, stay as they are.
    """
    if not answer.waits or not is_native_name(key[1]):
        return answer
    plan = next((each for each in plans if answer.plan == f"{key[0]}/{each.metadata.name}"), None)
    numbers = answer.numbers
    waiting = int(numbers.get("members", 0)) - int(numbers.get("boundMembers", 0))
    is_gated = bool(numbers.get("podsWithOurGate"))
    asked = Asked(group, plan, waiting, said, now, _differs(snapshot, key), is_gated)
    return replace(
        answer,
        numbers={**numbers, **dict(_numbers(asked))},
        notes=(*answer.notes, *_notes(asked, answer.state)),
        tried_again=_tried_again(asked) if waiting else answer.tried_again,
        since=since_of(answer, group),
    )


def since_of(answer: Wait, group: PodGroup | None) -> str:
    """Since when a group of that kind waits, by our status, else by the scheduler's own word."""
    condition = _condition(group)
    return answer.since or ((condition.last_transition_time or "") if condition is not None else "")


def _differs(snapshot: Snapshot, key: GroupKey) -> NotTried | None:
    """The scheduler does not ask whether reprieve plans for such gangs."""
    counts = GroupCounts(snapshot)
    if (row := counts.row(key)) < 0:
        return None
    try:
        return not_tried(replace(snapshot, preempting=ALL_PREEMPTING), row, counts.pods(row))
    except DecisionError:
        return None


def _condition(group: PodGroup | None) -> Condition | None:
    """Why the scheduler has not placed the group."""
    found = (group.status.conditions if group is not None and group.status is not None else None) or ()
    return next((each for each in found if each.type == INITIALLY_SCHEDULED and each.status == "False"), None)


def _numbers(asked: Asked) -> Iterator[tuple[str, int | str]]:
    spec = asked.plan.spec if asked.plan is not None else None
    if spec is not None and spec.evicted_by is not UNSET and spec.evictor_reason is not UNSET:
        yield "evictedBy", spec.evicted_by
        yield "evictorReason", spec.evictor_reason
    status = asked.plan.status if asked.plan is not None else None
    if status is not None and status.handed_over:
        yield "handedOver", status.handed_over
    if status is not None and status.next_attempt:
        yield "nextAttempt", status.next_attempt
    if asked.waiting and asked.differs is None:
        yield "longestBackoffSeconds", round(_longest(asked))


# ---- who evicts


def _notes(asked: Asked, state: str) -> Iterator[str]:
    if asked.plan is not None:
        yield from _of_plan(asked.plan)
    elif state == "OfAnotherKind":
        yield BY_RULE.format(_why_not_planned(asked.said))
        if asked.differs is not None:
            yield f"kube-scheduler does not try it: {asked.differs.message}."
    if (condition := _condition(asked.group)) is not None:
        yield f"kube-scheduler says ({condition.reason}): {condition.message}"


def _why_not_planned(said: NativeSaid) -> str:
    if said.plans:
        return NO_GANG
    return OFF if said.mode else NOT_SAID


def _of_plan(plan: PreemptionPlan) -> Iterator[str]:
    spec, status = plan.spec, plan.status
    if spec.evicted_by is UNSET or spec.evictor_reason is UNSET:
        return
    words = evictor_words(spec.evicted_by, spec.evictor_reason)
    yield f"{words} ({spec.evictor_reason})."
    if spec.evicted_by != "Scheduler" or status is None:
        return
    if status.phase in AFTER_PLANNED:
        yield "The plan was handed over, and kube-scheduler has evicted by it."
    elif status.handed_over:
        yield f"The plan is handed over since {status.handed_over}: kube-scheduler may evict by it at any moment."
    else:
        yield "The plan is not handed over: no attempt was offered enough of its nodes yet."
    if status.unplanned:
        yield f"kube-scheduler has evicted {counted(len(status.unplanned), 'pod')} that the plan does not name."


# ---- the next attempt


def _tried_again(asked: Asked) -> str:
    if asked.differs is not None:
        return UNGATED if asked.differs.reason == GATED else CHANGED
    if asked.is_gated:
        return OUR_GATE
    status = asked.plan.status if asked.plan is not None else None
    bound = _bound(asked)
    if status is None or not status.next_attempt:
        return f"By kube-scheduler, when its backoff is over. Nothing says when that is. {bound}"
    at = status.next_attempt
    if parse_rfc3339(at, "status.nextAttempt") < asked.now:
        return f"By kube-scheduler. An attempt was due at {at}. Others may have put it off. {bound}"
    if status.next_attempt_known:
        return f"By kube-scheduler, at {at} when its backoff is over. Attempts on others may put it off."
    return f"By kube-scheduler, at {at} at the latest: earlier attempts are not known, so it may come much sooner."


def _bound(asked: Asked) -> str:
    most = asked.said.max_backoff
    value = f"{most:g}" if most is not None else f"{USUAL_BACKOFF:g} by default"
    return (
        f"The upper bound is {_longest(asked):.0f} s after the last attempt: podMaxBackoffSeconds ({value}) times the "
        f"square root of {counted(asked.waiting, 'waiting member')}."
    )


def _longest(asked: Asked) -> float:
    most = asked.said.max_backoff
    return longest_wait(most if most is not None else USUAL_BACKOFF, asked.waiting)
