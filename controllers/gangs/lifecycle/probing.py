"""Probes: a few members are tried by the scheduler for all that are alike, and the others keep our scheduling gate.

Pure functions of what the last decision says about members. See docs/decisions/0145.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Final

from api.plans import PreemptionPlanSpec

__all__ = ["FIRST", "ROUND_SECONDS", "Alike", "Probing", "first_round", "may_speak", "next_round", "to_open"]

FIRST: Final = 2
"""Number of members of a shape that are tried first."""
ROUND_SECONDS: Final = 1.0
"""After this time twice as many are tried, although the scheduler has not tried all of the last round."""

Alike = tuple[tuple[str, ...], ...]
"""Members (UIDs) of one shape each. A shape has two members at least."""


@dataclass(frozen=True, slots=True)
class Probing:
    """Pods would be evicted for a gang, and the scheduler has to confirm that."""

    alike: Alike
    """Members for which a few may speak."""
    others: frozenset[str]
    """The other planned members (UIDs). Each speaks for itself."""
    at: float
    """When the round began, in monotonic seconds."""
    count: int = FIRST
    """How many members of each shape are tried in this round, those of earlier rounds included."""

    def decided_again(self, before: Probing | None) -> Probing:
        """The same, in the round that the gang has come to before."""
        return self if before is None else replace(self, at=before.at, count=before.count)


def may_speak(spec: PreemptionPlanSpec, *, in_vain: bool) -> bool:
    """Whether members may speak for others that are like them.

    Each speaks for itself if the plan names something that is not modelled: members may differ in it. So does each
    after evictions in vain for the gang (`in_vain`): then our model is in doubt, and with it what it calls alike.
    """
    return bool(spec.victims) and not spec.not_modelled and not in_vain


def first_round(alike: Alike, planned: Iterable[str], now: float) -> Probing:
    """The beginning. `planned`: all members (UIDs) that the decision places because the gang needs them."""
    return Probing(alike, frozenset(planned).difference(*alike), now)


def to_open(probing: Probing, gated: Container[str], waiting: Container[str]) -> set[str]:
    """The members (UIDs) whose gate is to be removed in this round.

    `gated`: the pods with our gate. `waiting`: the members that have no node. Those that wait without a gate count
    among the members of their shape that are tried.
    """
    found = {uid for uid in probing.others if uid in gated}
    for members in probing.alike:
        closed = [uid for uid in members if uid in gated]
        tried = sum(uid in waiting and uid not in gated for uid in members)
        found.update(closed[: max(0, probing.count - tried)])
    return found


def next_round(
    probing: Probing, gated: Container[str], waiting: Container[str], now: float, *, tried: bool
) -> Probing:
    """What follows while not every planned node is confirmed. `tried`: the scheduler has tried all of this round."""
    if to_open(probing, gated, waiting):
        return probing
    if not tried and now < probing.at + ROUND_SECONDS:
        return probing
    return replace(probing, at=now, count=2 * probing.count)
