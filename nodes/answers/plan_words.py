"""A plan in the words of an answer: what it says, what stands in its way, and what it would evict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import UNSET

from api.may_name import OTHER_NAMESPACE
from api.plans import PreemptionPlanSpec, Victim
from api.unmodelled import doubted
from api.waits import Place
from api.words import counted
from nodes.answers.verdicts import doubts, why_not_certain
from nodes.groups.keys import short_name
from nodes.search.unmodelled import why_blocked

__all__ = [
    "Readable",
    "places_of",
    "said_of",
    "unit_text",
    "victims_of",
    "whole",
    "would_help",
]

Readable = Callable[[PreemptionPlanSpec], PreemptionPlanSpec]
"""The decision as its reader may know it. It has the same victims in the same order."""

MOST: Final = 15
"""Domains and victims that an answer names one by one."""
NOWHERE: Final = ("Unschedulable", "SearchBudgetExhausted")


def whole(spec: PreemptionPlanSpec) -> PreemptionPlanSpec:
    """All of the decision may be known."""
    return spec


def said_of(spec: PreemptionPlanSpec, *, who: str = "It", stored: bool = False) -> str:
    """What the decision says, and whether that is known. `stored`: the scheduler decides about what is not modelled."""
    return _said(spec, who) if stored else doubted(_said(spec, who), doubts(spec))


def _said(spec: PreemptionPlanSpec, who: str) -> str:
    if spec.outcome == "Preempts":
        pods = sum(len(victim.pods) for victim in spec.victims)
        gone = f"{counted(len(spec.victims), 'unit')} with {counted(pods, 'pod')}"
        gone += f" of priority {spec.priority_cutoff} or lower" if spec.priority_cutoff is not None else ""
        if why := why_blocked(spec):
            return f"{who} would fit {_where(spec)} with {gone} gone, but nothing is evicted for it: {why}."
        return f"{who} fits {_where(spec)} once {gone} {'is' if len(spec.victims) == 1 else 'are'} gone."
    if spec.outcome in NOWHERE:
        return f"{who} does not fit anywhere, so nothing is evicted for it: {spec.reason}."
    if spec.placements:
        return f"{who} fits {_where(spec)} without evictions."
    return f"{spec.reason[:1].upper()}{spec.reason[1:]}."


def _where(spec: PreemptionPlanSpec) -> str:
    nodes = list(dict.fromkeys(placement.node for placement in spec.placements))
    on = f"on node {nodes[0]}" if len(nodes) == 1 else f"on {counted(len(nodes), 'node')}"
    domain = spec.domain
    if domain is None or domain.topology_key is None or spec.preemptor.kind == "Pod":
        return on
    return f"{on} of {domain.topology_key}={domain.value}"


def places_of(spec: PreemptionPlanSpec) -> tuple[Place, ...]:
    """The domains, the best ones first, and how many more there are for each reason."""
    listed = [Place(each.value or "the cluster", each.outcome, each.reason) for each in spec.domains[:MOST]]
    if more := len(spec.domains) - MOST:
        listed += [Place(f"and {more} more", "", "")] if more > 0 else []
    others = [Place(f"and {each.count} more", each.outcome, each.reason) for each in spec.other_domains]
    return (*listed, *others)


def victims_of(spec: PreemptionPlanSpec) -> tuple[str, ...]:
    """The units to evict."""
    named = [unit_text(each) for each in spec.victims[:MOST]]
    more = len(spec.victims) - MOST
    return (*named, f"and {counted(more, 'more unit')}") if more > 0 else tuple(named)


def unit_text(victim: Victim) -> str:
    """A victim with its name. One of another namespace has none if the whole plan was not read, and no UID either if
    the reader may not know it."""
    if not victim.name and not victim.uid:
        return f"{victim.kind} {OTHER_NAMESPACE}"
    name = (
        f"{victim.namespace}/{short_name(victim.name)}"
        if victim.name
        else f"{OTHER_NAMESPACE}, UID {victim.uid}"
    )
    pods = f" with {counted(len(victim.pods), 'pod')}" if victim.kind == "PodGroup" else ""
    return f"{victim.kind} {name}{pods}, priority {victim.priority}"


def would_help(spec: PreemptionPlanSpec) -> tuple[str, ...]:
    """What would have to change so that the preemptor runs. Empty if nothing stands in its way."""
    found = list[str]()
    if why := why_not_certain(spec):
        found.append(f"Pods that do not use what is {why}.")
    if spec.outcome not in NOWHERE:
        return tuple(found)
    if spec.mismatch is not UNSET:
        found.append(f"Members that may evict ({spec.mismatch}): see the reason.")
    for each in spec.stopped_by_pod_disruption_budgets or ():
        name = f"{each.namespace}/{each.name}" if each.name else OTHER_NAMESPACE
        than = f" than {each.allowed}" if each.allowed >= 0 else ""
        found.append(f"PodDisruptionBudget {name} would have to allow more{than}.")
    if spec.domains:
        best = spec.domains[0]
        place = f"in {best.value}" if best.value else "in the cluster"
        found.append(f"More room that it can use. It is nearest {place}: {best.reason}.")
    if spec.excluded:
        found.append("A change of the nodes that a scheduler did not take: see spec.excluded of the plan.")
    return tuple(found)
