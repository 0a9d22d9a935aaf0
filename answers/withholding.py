"""Takes out of a picture, and out of decisions, what a reader may not know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec
from msgspec import UNSET

from answers.details import Details
from answers.names import ALL, EVERYWHERE, Listed, Names, right
from answers.picture import JOB, POD_GROUP, WORKLOAD, Picture
from api.may_name import OTHER_NAMESPACE
from api.plan_results import DomainResult, Excluded, StoppingBudget
from api.plans import PreemptionPlanSpec, Victim, VictimPod
from api.waits import Wait
from api.withholding import withhold
from nodes.search.unmodelled import BUDGET
from quota.answers.told import EVERYTHING, Told

__all__ = ["Reader", "stripped"]

KINDS: Final[Mapping[str, Listed]] = {
    "Pod": "pods",
    "PodGroup": "pods",
    "Workload": "workloads",
    "PodDisruptionBudget": "poddisruptionbudgets",
}
"""What a reader must be allowed to list in a namespace, to learn names of this kind there."""
REFUSABLE: Final[Mapping[Listed, tuple[str, str]]] = {
    "podgroups": POD_GROUP,
    "jobs": JOB,
    "workloads": WORKLOAD,
}
COSTS_MORE: Final = re.compile(r"^(costs more: .*?) (?:at least )?-?\d+, not -?\d+")
NOT_SAID: Final = -1
"""In place of what a budget allows."""
OTHERS: Final = "What is of other namespaces is not named here. The right that would show more: {}."


class Reader:
    """What one reader may know from one answer, and which rights would have shown more."""

    def __init__(self, names: Names) -> None:
        self._names, self._missing = names, dict[str, None]()
        self.knows_all = names is ALL

    def lists(self, what: Listed, namespace: str = EVERYWHERE) -> bool:
        """Whether the reader may list it. If not, the right is missing."""
        if self._names.lists(what, namespace):
            return True
        if not self._names.lists(what):
            self._missing[right(what)] = None
        return False

    def may_name(self, kind: str, namespace: str) -> bool:
        """See `api.may_name.MayName`. An empty namespace is one that nobody may know."""
        what = KINDS[kind]
        if self._names.lists(what):
            return True
        if namespace and self._names.lists(what, namespace):
            return True
        self._missing[right(what)] = None
        return False

    @property
    def told(self) -> Told:
        """What may be said of quota."""
        if self.knows_all:
            return EVERYTHING
        return Told(self.may_name, lambda: self.lists("clusterqueues"), lambda: self.lists("workloads"))

    @property
    def missing(self) -> list[str]:
        """Rights that would have shown more so far."""
        return [*self._missing]

    def notes(self) -> tuple[str, ...]:
        """A sentence about the rights that are missing; none if nothing was withheld."""
        return (OTHERS.format(", ".join(self._missing)),) if self._missing else ()

    # ---- pictures

    def picture(self, picture: Picture) -> Picture:
        """The picture for answers about objects of any namespace: without nodes, no search is asked."""
        if self.knows_all:
            return picture
        if picture.looked is None and not self._names.lists("pods"):
            picture = replace(picture, why_not=f"an object cannot be used ({_refusal('pods')})")
        if not self._names.lists("nodes"):
            picture = replace(picture, without_nodes=_refusal("nodes"))
        return picture

    def picture_of(self, picture: Picture, namespace: str) -> Picture:
        """The picture for an answer about an object of this namespace."""
        if self.knows_all:
            return picture
        picture, refused = self.picture(picture), dict(picture.refused)
        for what, kind in REFUSABLE.items():
            if not self._names.lists(what, namespace):
                refused[kind] = _refusal(what, namespace)
        clusters = picture.worker_clusters
        if not self._names.lists("dispatchplans", namespace):
            clusters = replace(clusters, plans=(), unread=_refusal("dispatchplans", namespace))
        return replace(picture, refused=refused, worker_clusters=clusters)

    def details(self, details: Details) -> Details:
        """The details of a namespace."""
        if self.knows_all:
            return details
        if not self._names.lists("pods", details.namespace):
            details = replace(details, pods={}, units={})
        if not self._names.lists("jobs", details.namespace):
            details = replace(details, jobs={})
        return details

    # ---- decisions

    def decision(self, spec: PreemptionPlanSpec) -> PreemptionPlanSpec:
        """The decision as the reader may know it. What has no name has no UID, no priority and no node either."""
        if self.knows_all or self._names.lists("clusterpreemptionplans"):
            return spec
        named = withhold(spec, self.may_name)
        victims = [each if each.namespace else _anonymous(each) for each in named.victims]
        hides = any(not each.namespace for each in victims)
        budgets = named.stopped_by_pod_disruption_budgets
        return msgspec.structs.replace(
            named,
            victims=victims,
            priority_cutoff=None if hides else named.priority_cutoff,
            cost=UNSET if hides else named.cost,
            stopped_by_pod_disruption_budgets=budgets
            and [each if each.namespace else StoppingBudget("", "", NOT_SAID) for each in budgets],
            domains=[self._domain(each) for each in named.domains],
            not_modelled=[self._unmodelled(each) for each in named.not_modelled],
            excluded=named.excluded and [self._excluded(each) for each in named.excluded],
        )

    def _domain(self, domain: DomainResult) -> DomainResult:
        """The domain without what its victims cost, if they may be anybody's."""
        reason = COSTS_MORE.sub(r"\1", domain.reason)
        if (domain.score is None and reason == domain.reason) or self.lists("pods"):
            return domain
        return msgspec.structs.replace(domain, score=None, reason=reason)

    def _unmodelled(self, name: str) -> str:
        """What is not modelled. A budget is named there."""
        if not name.startswith(BUDGET):
            return name
        namespace = name.removeprefix(BUDGET).partition("/")[0]
        return name if self.may_name("PodDisruptionBudget", namespace) else f"{BUDGET}{OTHER_NAMESPACE}"

    def _excluded(self, each: Excluded) -> Excluded:
        """A node that a scheduler did not take for a pod."""
        namespace = each.pod.partition("/")[0]
        if not namespace or self.may_name("Pod", namespace):
            return each
        return Excluded("", each.node, "")

    # ---- answers

    def answer(self, answer: Wait) -> Wait:
        """The answer without the fields that are empty because of the reader, and with a note about them."""
        if self.knows_all:
            return answer
        return replace(_stripped(answer), notes=(*answer.notes, *self.notes()))


def _refusal(what: Listed, namespace: str = EVERYWHERE) -> str:
    return f"a right is missing: {right(what, namespace)}"


def _anonymous(victim: Victim) -> Victim:
    """Only its kind, and how many pods it has."""
    pods = [VictimPod("", "", "", "") for _ in victim.pods]
    return Victim(victim.kind, "", "", "", 0, False, pods)


def _stripped(answer: Wait) -> Wait:
    decision = stripped(answer.decision) if answer.decision is not None else None
    return replace(answer, decision=decision, depends=tuple(map(_stripped, answer.depends)))


def stripped(decision: Mapping[str, Any]) -> Mapping[str, Any]:
    """A decision for programs that `Reader.decision` has made readable, without what is empty because of the reader: a
    struct must have it."""
    if "victims" not in decision:
        return decision
    victims = [each if each["uid"] else _known(each) for each in decision["victims"]]
    budgets = decision.get("stoppedByPodDisruptionBudgets")
    said = [each for each in budgets or () if each["allowed"] != NOT_SAID]
    own = {} if budgets is None else {"stoppedByPodDisruptionBudgets": said}
    return {**decision, "victims": victims, **own}


def _known(victim: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": victim["kind"], "namespace": "", "name": "", "pods": [{} for _ in victim["pods"]]}
