"""What is said of a case: the status of its plan. Pure."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from api.instead import Costs, Instead, InsteadVictims, StateOfDecision
from api.times import parse_rfc3339, rfc3339
from controllers.account.cases import Case
from controllers.account.costs import Lost, bounded, higher, lost_of, sum_up, whole, with_zeros
from controllers.account.victims import Victim

__all__ = ["is_news", "later_than", "said_of", "together", "written_over"]

PIECES_SECONDS = 1.0
"""Members are bound one after the other. For less than this it is not said that a gang is in pieces."""
WITHOUT_TIME = ""


def said_of(case: Case, unattributed: int, now: float, *, concluded: bool = False) -> Instead:
    """The case as of `now`. `unattributed`: see `Ledger.unattributed`."""
    pieces = case.pieces_until(now)
    bound = case.whole_at is not None
    since = case.complete if case.complete is not None else case.began
    nobody = [each for each in case.victims.values() if case.fate(each, now) == "ServedNobody"]
    return Instead(
        state=_state(case),
        victims=_victims(case.victims.values()),
        groups_broken=case.broken(),
        served_nobody=len(nobody),
        in_pieces=pieces >= PIECES_SECONDS,
        in_pieces_seconds=int(pieces),
        bound=bound,
        seconds_until_bound=max(0, int(case.whole_at - since)) if case.whole_at is not None else UNSET,
        unattributed=unattributed,
        costs=_costs(case, nobody, now),
        concluded=concluded,
        as_of=rfc3339(now),
    )


def _costs(case: Case, nobody: list[Victim], now: float) -> Costs:
    lost = lost_of((each.usage, each.worked_until) for each in case.victims.values())
    ours = case.decision.ours if case.decision is not None else Lost()
    held = case.held.until(now) if case.pieces_until(now) >= PIECES_SECONDS else {}
    return Costs(
        served_nobody=whole(lost_of((each.usage, each.worked_until) for each in nobody).amounts),
        idle_remainders=whole(sum_up(each.idle(now) for each in case.remainders.values())),
        held_in_pieces=whole(held),
        victims=whole(lost.amounts),
        ours=whole(ours.amounts),
        unknown=lost.unknown,
        unknown_ours=ours.unknown,
    )


def _state(case: Case) -> StateOfDecision:
    if case.decision is None or not all(each.seen for each in case.victims.values()):
        return "Unknown"
    return "Changed" if case.decision.changed else "Same"


def _victims(victims: Collection[Victim]) -> InsteadVictims:
    priorities = dict[str, int | None]()
    for each in victims:
        known = priorities.get(each.unit)
        priorities[each.unit] = each.priority if known is None else known
    known_ones = [each for each in priorities.values() if each is not None]
    return InsteadVictims(
        pods=len(victims),
        units=len(priorities),
        highest_priority=max(known_ones, default=UNSET),
        priority_sum=sum(each + 2**31 for each in known_ones),
    )


def is_news(said: Instead, before: Instead | None) -> bool:
    """Whether it says something else than before, times that go on aside."""
    if before is None:
        return said.concluded or said.victims.pods > 0 or said.in_pieces or said.bound
    return _lasting(said) != _lasting(before)


def _lasting(said: Instead) -> Instead:
    costs = replace(said.costs, idle_remainders={}, held_in_pieces={})
    return replace(said, as_of=WITHOUT_TIME, in_pieces_seconds=0, costs=costs)


def later_than(before: Instead | None, case: Case) -> InsteadVictims | None:
    """The victims that the former leader did not know when it said that. None if it is not known which they are.

    It knew of all that came before, if they are as many. Whoever came later was seen, and is in no group that is
    evicted whole: such a group may have lost pods before that only the former leader has seen.
    """
    try:
        until = parse_rfc3339(before.as_of) + 1.0 if before is not None else 0.0
    except ValueError:
        return None
    later = [each for each in case.victims.values() if each.at >= until]
    earlier = len(case.victims) - len(later)
    if before is None or earlier != before.victims.pods:
        return None
    return _victims(later) if all(each.seen and each.unit == each.uid for each in later) else None


def together(said: Instead, before: Instead | None, later: InsteadVictims | None = None) -> Instead:
    """What a new leader says of a case that another one has followed before: nothing counts twice.

    Each number is the higher one of both. A part of the victims may have been counted by the former leader alone, so
    if that knew of more, not all was seen. If it knew as many, it knew the same ones: then its word about them counts.
    The same is true if it knew all but these `later` ones. If it did not see all, and this leader did, this one counts.
    """
    if before is None:
        return said
    ours, theirs = said.victims, before.victims
    if said.state == "Unknown" and before.state != "Unknown":
        if ours.pods == theirs.pods:
            later = InsteadVictims()
        if later is not None:
            ours = _sum(theirs, later)
            said = replace(said, state=before.state, victims=ours, groups_broken=before.groups_broken)
    bound = before if before.bound else said
    missed = theirs.pods > ours.pods or theirs.priority_sum > ours.priority_sum
    return replace(
        said,
        state="Unknown" if missed else said.state,
        victims=InsteadVictims(
            pods=max(ours.pods, theirs.pods),
            units=max(ours.units, theirs.units),
            highest_priority=_highest(ours.highest_priority, theirs.highest_priority),
            priority_sum=max(ours.priority_sum, theirs.priority_sum),
        ),
        groups_broken=max(said.groups_broken, before.groups_broken),
        served_nobody=max(said.served_nobody, before.served_nobody),
        bound=bound.bound,
        seconds_until_bound=bound.seconds_until_bound,
        in_pieces=said.in_pieces or before.in_pieces,
        in_pieces_seconds=said.in_pieces_seconds + before.in_pieces_seconds,
        unattributed=max(said.unattributed, before.unattributed),
        costs=higher(said.costs, before.costs),
    )


def _sum(one: InsteadVictims, other: InsteadVictims) -> InsteadVictims:
    """Of victims that have nothing in common."""
    return InsteadVictims(
        pods=one.pods + other.pods,
        units=one.units + other.units,
        highest_priority=_highest(one.highest_priority, other.highest_priority),
        priority_sum=one.priority_sum + other.priority_sum,
    )


def written_over(said: Instead, written: Instead | None) -> Instead:
    """What is to be written after that: with few resources, and with zeros for what is no longer so."""
    before = written.costs if written is not None else Costs()
    return replace(said, costs=with_zeros(bounded(said.costs, before), before))


def _highest(one: int | UnsetType, other: int | UnsetType) -> int | UnsetType:
    known = [each for each in (one, other) if each is not UNSET]
    return max(known, default=UNSET)
