"""Evictions as text for a person."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from answers.evictions import Eviction, Evictions, Preempted
from cli.common.output import line
from nodes.groups.keys import short_name

__all__ = ["render"]

WORDS = {
    "Priority": "the preemptor's priority is higher",
    "Releases": "its own gang never ran whole, and waits as a whole now",
    "Withdraws": "its own gang has lost its quota",
}
"""Rules of nodes. Those of quota have Kueue's names, and the reason of the plan says the rest."""


EVICTORS = {"Scheduler": "kube-scheduler, on the nodes that the plan names", "Reprieve": "reprieve"}
"""Of plans for gangs of kube-scheduler's own kind."""


def render(answer: Evictions) -> RenderableType:
    """The whole answer."""
    parts: list[RenderableType] = [_head(answer.name, answer.found)]
    for each in answer.found:
        parts += _eviction(answer.name, each)
    for preempted in answer.by_scheduler:
        parts += _preempted(preempted)
    oldest = answer.oldest
    known = f"The oldest plan that was read is of {oldest}." if oldest else "There is no plan."
    says = f"{known} Plans are kept for a time, so earlier evictions are not known."
    parts += [Text(), Text(says, "dim")]
    return Group(*parts)


def _head(key: str, evictions: Sequence[Eviction]) -> RenderableType:
    if not evictions:
        return Text(f"No plan evicts {key}", "bold")
    return Text(f"{key} {_by_plans(len(evictions), sum(bool(each.begun) for each in evictions))}", "bold")


def _by_plans(all_: int, begun: int) -> str:
    """`all_`: how many plans name it. `begun`: how many of them have evicted."""
    if begun == all_:
        return f"was evicted by {'one plan' if all_ == 1 else f'{all_} plans'}"
    if begun:
        return f"was evicted by {begun} of {all_} plans that name it"
    plans = "one plan, which has" if all_ == 1 else f"{all_} plans, which have"
    return f"is named by {plans} evicted nobody"


def _eviction(key: str, each: Eviction) -> list[RenderableType]:
    preemptor, victim = each.spec.preemptor, each.victim
    unit = f"{victim.kind} {victim.namespace}/{short_name(victim.name)}"
    rule = f"{each.rule}: {words}" if (words := WORDS.get(each.rule)) else each.rule
    said = [
        ("for", f"{preemptor.kind} {preemptor.namespace}/{preemptor.name}, priority {preemptor.priority}"),
        ("victim", f"{unit}, priority {victim.priority}" if unit != key else f"priority {victim.priority}"),
        ("when", each.begun or "not yet: the plan has evicted nobody"),
        ("rule", rule),
        *([("evicted by", EVICTORS[each.evicted_by])] if each.evicted_by else []),
        ("reason", each.spec.reason),
        ("since then", _end(each)),
    ]
    return [Text(), Text(f"PreemptionPlan {each.plan}"), *(line(f"{name:<11}{text}") for name, text in said)]


def _preempted(each: Preempted) -> list[RenderableType]:
    """What kube-scheduler evicted and no plan that acts names."""
    mark, plan, observed = each.mark, each.plan, each.observed
    uid = f"UID {mark.preemptor_uid}" if mark.preemptor_uid else "which is not named"
    owner = f", of {observed.preemptor}" if observed is not None else ""
    meanwhile = f"while it evicted by PreemptionPlan {plan}, which does not name this pod"
    said = [
        ("for", f"{mark.kind} {mark.preemptor or uid}{owner}"),
        ("when", mark.at or "that is not known"),
        ("plan", meanwhile if plan else "none of reprieve"),
        ("it says", mark.says),
    ]
    if observed is not None:
        too = "would evict this pod, too" if observed.names_it else "would spare this pod"
        said.append(("observed", f"PreemptionPlan {observed.plan} {too}"))
        said += [("instead", sentence) for sentence in observed.sentences]
    return [Text(), Text("kube-scheduler evicted it"), *(line(f"{name:<11}{text}") for name, text in said)]


def _end(each: Eviction) -> str:
    if each.ran:
        return f"the preemptor got the room ({each.phase})"
    if each.why_over:
        return f"the plan is over ({each.phase}). {each.why_over}"
    return f"the plan is carried out ({each.phase or 'Planned'})"
