"""PreemptionReport (`reprieve.dev/v1alpha1`): what one day's decisions, and what schedulers did instead, add up to.

It has no spec: nobody wants anything by it. Only the leader writes it.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeVar

from msgspec import Meta, field
from msgspec.structs import replace

from api.groups import API_VERSION
from api.instead import Costs, sum_of
from api.meta import ObjectMeta, Struct

__all__ = [
    "CAUSES",
    "EnforcedCounts",
    "Gap",
    "GapCause",
    "ObservedCounts",
    "PreemptionReport",
    "QuotaCounts",
    "ReportRow",
    "SchedulerCounts",
    "added",
]

T = TypeVar("T", bound=Struct)

GapCause = Literal["NoLeader", "Restart", "NotReached", "EventsRefused"]
CAUSES: Final[tuple[GapCause, ...]] = ("NoLeader", "Restart", "NotReached", "EventsRefused")
Number = Annotated[int, Meta(ge=0)]
Waits = dict[str, Number]
"""By seconds until bound: how many. From 10 on, seconds are rounded down, by a tenth at most."""


class ObservedCounts(Struct):
    """Decisions that were observed only. Each belongs to the day on which it was made, and counts once: when it is
    concluded."""

    decisions: Number = 0
    """The number of decisions that were compared with what a scheduler did."""
    changed: Number = 0
    """Those that were not made on the state before the scheduler began. They are in no other number but decisions."""
    unknown: Number = 0
    """Those where not all was seen that the scheduler did. They are in no other number but decisions."""
    pods: Number = 0
    """The pods that reprieve would have evicted."""


class SchedulerCounts(Struct):
    """What schedulers did instead. All but unattributed is of decisions whose state is Same."""

    pods: Number = 0
    """The pods that were preempted."""
    served_nobody: Number = 0
    """Those of them that were preempted in vain."""
    groups_broken: Number = 0
    """The groups that lost only a part of their pods, although they are evicted whole by rule."""
    in_pieces: Number = 0
    """The gangs that were in pieces for a second or more."""
    in_pieces_seconds: Number = 0
    """For how many seconds in all."""
    bound: Number = 0
    """The preemptors that were bound."""
    seconds_until_bound: Waits = field(default_factory=dict)
    """How many of those were bound after how many seconds. From 10 on, seconds are rounded down, by a tenth at most."""
    unattributed: Number = 0
    """The pods that were preempted for somebody who is not known. They are not among pods."""


class EnforcedCounts(Struct):
    """Plans by which pods were evicted, since the mode was Enforce. Each belongs to the day on which it was made, and
    counts once: when it has ended."""

    plans: Number = 0
    """The number of plans."""
    pods: Number = 0
    """The number of their victims."""
    bound: Number = 0
    """The plans whose preemptor was bound."""
    in_vain: Number = 0
    """The plans that evicted in vain."""


class QuotaCounts(Struct):
    """Decisions of Kueue, compared with ours on the state before (quota.mode Observe)."""

    agrees: Number = 0
    """Ours is the same."""
    differs: Number = 0
    """Ours is another one."""
    unknown: Number = 0
    """It cannot be compared."""


class ReportRow(Struct):
    """Sums over decisions."""

    namespace: str = ""
    """The preemptors' namespace. Absent in a row of more than one."""
    observed: ObservedCounts = field(default_factory=ObservedCounts)
    """What reprieve would have done."""
    scheduler: SchedulerCounts = field(default_factory=SchedulerCounts)
    """What schedulers did instead."""
    costs: Costs = field(default_factory=Costs)
    """What that cost, as far as it is known. Of decisions whose state is Same."""
    enforced: EnforcedCounts = field(default_factory=EnforcedCounts)
    """What reprieve did where the mode was Enforce."""
    quota: QuotaCounts = field(default_factory=QuotaCounts)
    """How far quota agrees."""


class Gap(Struct):
    """Time that was not observed, or not wholly."""

    cause: GapCause
    """NoLeader: no process led, or the one that did was killed before it wrote. Restart: a leader had stepped down, and
    no other one led. NotReached: the leader was not in touch with the API server. EventsRefused: the leader may not
    read events."""
    seconds: Number = 0
    """For how many seconds in all."""
    times: Number = 0
    """How often."""


class PreemptionReport(Struct, kw_only=True):
    """What the decisions of one day add up to, and what schedulers did instead.

    Its name is the day, such as 2026-11-25, in UTC. It is written every five minutes at most.
    """

    # Factories: a plain default would be left out, and the API server needs both.
    api_version: str = field(default_factory=lambda: API_VERSION)
    kind: Literal["PreemptionReport"] = field(default_factory=lambda: "PreemptionReport")
    metadata: ObjectMeta
    as_of: str = ""
    """Until when it is complete (RFC 3339)."""
    written_by: str = ""
    """The name of this write: the process, its term and a number. A writer that got no answer sees from it whether the
    write was done."""
    ended: bool = False
    """Whether the leader stepped down after this write."""
    observed_seconds: Number = 0
    """For how many seconds of the day all was observed."""
    gaps: list[Gap] = field(default_factory=list)
    """The rest of the time in which somebody should have observed, by cause."""
    total: ReportRow = field(default_factory=ReportRow)
    """All namespaces."""
    namespaces: list[ReportRow] = field(default_factory=list)
    """Single namespaces, 200 at most, in the order in which they came."""
    others: ReportRow = field(default_factory=ReportRow)
    """The namespaces that came when there were 200 already, and what is of no known namespace."""
    counted: list[str] = field(default_factory=list)
    """UIDs of the plans that are in this report and may still be there: none of them counts again."""


def added(one: T, other: T) -> T:
    """The sum of each number, in structs and dicts inside them, too. Texts are those of `one`."""
    return replace(
        one, **{name: _sum(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__}
    )


def _sum(one: object, other: object) -> object:
    match one, other:
        case Costs(), Costs():
            return sum_of((one, other))
        case Struct(), Struct():
            return added(one, other)
        case dict(), dict():
            return {key: _sum(one.get(key, 0), other.get(key, 0)) for key in {**one, **other}}
        case int(), int():
            return one + other
        case _:
            return one
