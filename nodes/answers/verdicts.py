"""What a plan means for an answer: its outcome, or that nobody can know it, because of what is not modelled.

Every answer about nodes asks here. See docs/decisions/0088.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from api.plan_results import Outcome
from api.plans import PreemptionPlanSpec
from api.unmodelled import UNKNOWN, not_modelled
from nodes.filters.gang_scheduling import NATIVE
from nodes.search.unmodelled import could_admit, why_blocked

__all__ = ["PLACED", "Verdict", "doubts", "plain", "verdict", "why_not_certain"]

Verdict = Outcome | Literal["Blocked", "Unknown"]

PLACED: Final[frozenset[Verdict]] = frozenset({"Fits", "Preempts"})
"""Verdicts that say that the preemptor gets its nodes."""


def verdict(spec: PreemptionPlanSpec) -> Verdict:
    """The outcome of a decision that was made now. Blocked: its victims are not evicted, because of what is not
    modelled. Unknown: what is not modelled could make it another one."""
    if why_blocked(spec):
        return "Blocked"
    return "Unknown" if doubts(spec) else spec.outcome


def doubts(spec: PreemptionPlanSpec) -> tuple[str, ...]:
    """Names of what is not modelled and could make the outcome another one; empty if nothing could.

    What can only refuse does not matter where nothing fits without it. How the scheduler evicts for its own pod groups
    does not matter where nothing is evicted. A Blocked plan is certain: it evicts no pod.
    """
    if why_blocked(spec):
        return ()
    if spec.outcome in PLACED:
        return tuple(name for name in spec.not_modelled if name != NATIVE or spec.victims)
    if spec.outcome == "Unschedulable":
        return tuple(name for name in spec.not_modelled if could_admit(name))
    return ()


def why_not_certain(spec: PreemptionPlanSpec) -> str:
    """Why the preemptor may be left without its nodes although the filters that are modelled admit it, or the other way
    round; empty if the outcome stands."""
    names = spec.not_modelled if why_blocked(spec) else doubts(spec)
    return not_modelled(names) if names else ""


def plain(spec: PreemptionPlanSpec) -> dict[str, Any]:
    """The decision for programs, as the spec of a PreemptionPlan. Its outcome is Unknown if it is not known."""
    found: dict[str, Any] = msgspec.to_builtins(spec)
    if doubts(spec):
        found["outcome"] = UNKNOWN
    return found
