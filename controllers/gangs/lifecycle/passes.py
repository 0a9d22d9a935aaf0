"""What filter offers the members of a gang of kube-scheduler's own kind: one pass, one plan.

Such a gang is tried in passes. In each, filter is called for one member after the other, with those before it assumed
where they were offered room. A call says neither which pass it is of nor who is assumed. But no member comes twice in a
pass. So the pass that goes on is a part of the *window*: the longest run of calls, up to the last one, in which no
member comes twice. All offers of a window come from one plan. See docs/decisions/0105.

A pure function.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from controllers.gangs.lifecycle.observations import HandedOver, PassBegan

__all__ = ["Answered", "Call", "Offering", "Pass", "answer", "closed", "resumed"]

UNKNOWN: Final = "?"
"""Stands for a plan by which others may have made offers. It is no name of an object."""


@dataclass(frozen=True, slots=True)
class Call:
    """Filter was called for a member."""

    uid: str
    nodes: Collection[str]
    """The names in the call. The scheduler tries the nominated node first, and alone."""


@dataclass(frozen=True, slots=True)
class Offering:
    """The gang's stored plan at the time of a call."""

    plan: str
    """The name of its PreemptionPlan."""
    node: str | None
    """What it offers the member of the call; None if it holds that member."""
    needed: int
    """How many more members must be bound to reach minCount."""
    is_steered: bool = True
    """The scheduler evicts by it."""
    given_up: bool = False
    """Its time is over. It makes no more offers, so that it can end when it is not handed over any longer."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The window, and the plan by which the scheduler may evict."""

    calls: Mapping[str, bool] = field(default_factory=dict)
    """The members (UIDs) in the order of their calls, and whether each was offered its node."""
    plan: str = ""
    """The plan by which the offers of the window were made; empty if there are none."""
    offers: int = 0
    """How many there are in `calls`."""
    is_open: bool = False
    """The window may begin with calls that another process or term answered."""
    alone: str = ""
    """The member (UID) of the last call, if that named one node only: the next call may try it on the other nodes."""
    handed_over: str = ""
    """The plan that is handed over; empty if none is."""


Answered = tuple[Pass, str | None, tuple[HandedOver | PassBegan, ...]]
"""The next state, the node that the member is offered (None: it is held), and what the gang's life observes."""


def resumed(plan: str | None, *, others: bool) -> Pass:
    """What a new term begins with. `plan`: the name of the stored plan by which the scheduler evicts, if there is one.

    `others`: another plan may have made offers in the pass that goes on. Otherwise members are answered by the stored
    plan at once. That plan may have been handed over, so it counts as such.
    """
    if plan is None and not others:
        return Pass()
    return Pass(plan=UNKNOWN if others else plan or "", is_open=True, handed_over=plan or "")


def closed(passing: Pass) -> Pass:
    """The same, when the pass that went on as the term began is over for certain."""
    return replace(passing, plan=passing.plan if passing.offers else "", is_open=False)


def answer(passing: Pass, call: Call, offering: Offering | None) -> Answered:
    """The answer to a call. `offering`: None if the gang has no stored plan."""
    passing = _with_call(passing, call)
    node = _node(passing, offering)
    if offering is not None and node is not None and node in call.nodes:
        passing = _with_offer(passing, call.uid, offering.plan)
    return _observed(passing, node, offering)


def _with_call(passing: Pass, call: Call) -> Pass:
    """The window with this call. A call with one name and the next one for the same member count as one."""
    if passing.alone == call.uid:
        return replace(passing, alone="")
    alone = call.uid if len(call.nodes) == 1 else ""
    if call.uid not in passing.calls:
        return replace(passing, calls={**passing.calls, call.uid: False}, alone=alone)
    later, calls = False, dict[str, bool]()
    for uid, is_offered in passing.calls.items():
        if later:
            calls[uid] = is_offered
        later = later or uid == call.uid
    offers = sum(calls.values())
    calls[call.uid] = False
    plan = passing.plan if offers else ""
    return replace(passing, calls=calls, plan=plan, offers=offers, is_open=False, alone=alone)


def _node(passing: Pass, offering: Offering | None) -> str | None:
    if offering is None or offering.given_up or passing.plan not in ("", offering.plan):
        return None
    return offering.node


def _with_offer(passing: Pass, uid: str, plan: str) -> Pass:
    if passing.calls[uid]:
        return passing
    return replace(passing, calls={**passing.calls, uid: True}, plan=plan, offers=passing.offers + 1)


def _observed(passing: Pass, node: str | None, offering: Offering | None) -> Answered:
    """Whether the plan is handed over. The pass may have offered less than its window."""
    before = passing.handed_over
    if offering is None or not offering.is_steered:
        return replace(passing, handed_over=""), node, ()
    name = offering.plan
    is_enough = passing.plan == name and passing.offers >= max(1, offering.needed)
    if is_enough or (passing.is_open and before == name):
        return replace(passing, handed_over=name), node, (HandedOver(name),)
    return replace(passing, handed_over=""), node, (PassBegan(name),) if before == name else ()
