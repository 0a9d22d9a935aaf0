"""A decision without the names that its reader may not know. See docs/decisions/0037."""

from __future__ import annotations

from msgspec.structs import replace

from api.may_name import MayName
from api.plans import PreemptionPlanSpec, Victim, VictimPod

__all__ = ["readable", "withhold"]


def readable(spec: PreemptionPlanSpec) -> PreemptionPlanSpec:
    """The decision as the readers of the preemptor's namespace may know it: see `withhold`."""
    return withhold(spec, lambda _, namespace: namespace == spec.preemptor.namespace)


def withhold(spec: PreemptionPlanSpec, may_name: MayName) -> PreemptionPlanSpec:
    """The decision without the names that its reader may not know. If there are no such names, it is the same object.

    A victim or a budget that may not be named has neither namespace nor name. What tells it from others stays: its UID,
    its priority and its nodes, which a process needs that resumes the plan.
    """
    victims = [_withhold(victim, may_name) for victim in spec.victims]
    named = spec.stopped_by_pod_disruption_budgets
    budgets = named and [
        each if may_name("PodDisruptionBudget", each.namespace) else replace(each, namespace="", name="")
        for each in named
    ]
    if victims == spec.victims and budgets == named:
        return spec
    return replace(spec, victims=victims, stopped_by_pod_disruption_budgets=budgets)


def _withhold(victim: Victim, may_name: MayName) -> Victim:
    if may_name(victim.kind, victim.namespace):
        return victim
    pods = [VictimPod("", "", pod.uid, pod.node) for pod in victim.pods]
    return replace(victim, namespace="", name="", pods=pods)
