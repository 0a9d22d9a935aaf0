"""PreemptionPlans of the quota plane: built from an entry of a cycle, and read back.

The object says everything that is needed to resume it: the quota that is promised to the preemptor, and each victim
by UID, with the rule by which it is preempted.

See docs/decisions/0041.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from msgspec import UnsetType
from msgspec.structs import replace as replace_fields

from api.compression import expand
from api.kueue import API_VERSION
from api.plan_names import PlanKey
from api.plan_results import PlanCost
from api.plans import (
    Placement,
    PreemptionPlanSpec,
    Preemptor,
    PreemptorQuota,
    QuotaAmount,
    Victim,
    VictimQuota,
)
from api.times import parse_rfc3339, rfc3339
from api.workloads import PreemptionReason
from quota.cycle.entries import Entry
from quota.cycle.particulars import AmountParticulars, Particulars, VictimParticulars
from quota.cycle.promises import Promise
from quota.state.amounts import request_amount, shown
from quota.state.workloads import effective_priority
from runtime.exchange.placements import Place

__all__ = [
    "FormerVictims",
    "Planned",
    "PlannedVictim",
    "covers",
    "promise_of",
    "proposed",
    "read",
    "spec_of",
    "with_names",
]

SECOND: Final = 1_000_000
"""In microseconds."""


@dataclass(frozen=True, slots=True)
class PlannedVictim:
    """A Workload that is preempted. Times are in microseconds since 1970."""

    uid: str
    key: str
    """`namespace/name`; "" if the stored plan withholds it, and the Workload is gone."""
    reason: PreemptionReason
    queue: str
    """The ClusterQueue whose quota it holds."""
    path: str
    priority: int
    since: int
    """Since when it has held its quota, in whole seconds."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What is needed to carry a plan out. Times are in microseconds since 1970."""

    key: PlanKey
    preemptor: str
    """`namespace/name`."""
    uid: str
    generation: int
    priority: int
    queue: str
    """The ClusterQueue that the preemptor waits for."""
    path: str
    usage: Mapping[tuple[str, str], int]
    """What the preemptor will use, by flavor and resource, in canonical units."""
    victims: Mapping[str, PlannedVictim]
    """By UID."""
    decided: int
    """When the plan was made, in whole seconds."""
    places: tuple[Place, ...] = ()
    """The nodes that its pods will find. Empty: nobody was asked."""


def spec_of(entry: Entry, particulars: Particulars, places: Iterable[Place] = ()) -> PreemptionPlanSpec:
    """The decision of an entry whose outcome is Preempt. `particulars` are those of the entry.

    `places`: the nodes that its pods will find.
    """
    workload, meta = entry.workload, entry.workload.metadata
    targets = entry.decision.targets if entry.decision is not None else ()
    reserved = {target.holder.key: target.holder.reserved for target in targets}
    quota = PreemptorQuota(
        cluster_queue=particulars.queue,
        path=particulars.path,
        generation=meta.generation,
        borrowing=particulars.borrowing,
        amounts=[_amount(each) for each in particulars.amounts],
    )
    return PreemptionPlanSpec(
        preemptor=Preemptor(
            "Workload", API_VERSION, meta.namespace, meta.name, meta.uid, effective_priority(workload), quota
        ),
        outcome="Preempts",
        reason=entry.message,
        placements=[Placement(each.pod, each.node) for each in places],
        victims=[_victim(each, reserved[each.key]) for each in particulars.victims],
    )


def proposed(spec: PreemptionPlanSpec, cost: PlanCost) -> PreemptionPlanSpec:
    """The same decision, of a preemptor with a closed preemption gate: nobody is evicted, and no room is promised."""
    return replace_fields(spec, outcome="Proposes", placements=[], cost=cost)


def _amount(amount: AmountParticulars) -> QuotaAmount:
    asked, available, borrowed = (
        shown(amount.resource, each) for each in (amount.asked, amount.available, amount.borrowed)
    )
    return QuotaAmount(amount.flavor, amount.resource, asked, available, borrowed)


def _victim(victim: VictimParticulars, reserved: int) -> Victim:
    namespace, _, name = victim.key.partition("/")
    quota = VictimQuota(victim.reason, victim.queue, victim.path, rfc3339(reserved // SECOND))
    return Victim("Workload", namespace, name, victim.uid, victim.priority, False, [], quota)


# ---- read back


def read(spec: PreemptionPlanSpec, key: PlanKey, decided: int) -> Planned:
    """The plan that a spec is about, stored or not. Raises ValueError if it is no plan of the quota plane, or damaged.

    `key` is that of the object, whose name a stored spec cannot tell if it withholds names. `decided` is in
    microseconds.
    """
    spec, preemptor = expand(spec), spec.preemptor
    quota = preemptor.quota
    if preemptor.kind != "Workload" or isinstance(quota, UnsetType):
        raise ValueError("spec.preemptor: it is no Workload that asks for quota")
    usage = {
        (each.flavor, each.resource): request_amount(
            each.resource, each.asked, "", f"spec.preemptor.quota.amounts[{number}].asked"
        )
        for number, each in enumerate(quota.amounts)
    }
    victims = [_read_victim(each, f"spec.victims[{number}]") for number, each in enumerate(spec.victims)]
    return Planned(
        key=key,
        preemptor=f"{preemptor.namespace}/{preemptor.name}",
        uid=preemptor.uid,
        generation=quota.generation,
        priority=preemptor.priority,
        queue=quota.cluster_queue,
        path=quota.path,
        usage=MappingProxyType(usage),
        victims=MappingProxyType({each.uid: each for each in victims}),
        decided=decided // SECOND * SECOND,
        places=tuple(Place(each.pod, each.node) for each in spec.placements),
    )


def _read_victim(victim: Victim, field: str) -> PlannedVictim:
    quota = victim.quota
    if victim.kind != "Workload" or isinstance(quota, UnsetType):
        raise ValueError(f"{field}: it is no Workload that gives quota back")
    since = round(parse_rfc3339(quota.since, f"{field}.quota.since") * SECOND)
    key = f"{victim.namespace}/{victim.name}" if victim.name else ""
    return PlannedVictim(
        victim.uid, key, quota.reason, quota.cluster_queue, quota.path, victim.priority, since
    )


def with_names(plan: Planned, keys: Mapping[str, str]) -> Planned:
    """The plan with the names that were withheld. A victim that is gone stays without one.

    `keys`: the Workloads that exist, `namespace/name` by UID.
    """
    return replace(
        plan,
        victims=MappingProxyType(
            {uid: replace(each, key=keys.get(uid, "")) for uid, each in plan.victims.items()}
        ),
    )


# ---- what it means


def promise_of(
    plan: Planned, former: frozenset[str] = frozenset(), returned: frozenset[str] = frozenset()
) -> Promise:
    """The quota that belongs to the preemptor while the plan is active. `former`: see `FormerVictims`.

    `returned`: its victims (keys) that have gone and have quota again. They stay, so nobody may count on their quota.
    """
    victims = frozenset(each.key for each in plan.victims.values() if each.key) - returned
    return Promise(plan.preemptor, plan.queue, plan.priority, plan.usage, victims, former - victims)


class FormerVictims:
    """The victims of a preemptor since it began to wait. None of them may take the quota of its later victims: two
    Workloads of higher priority would be evicted by turns for ever, each while the other one takes the room."""

    def __init__(self) -> None:
        self._by_preemptor: dict[str, set[str]] = {}

    def begins(self, plan: Planned) -> None:
        """The plan is begun."""
        known = self._by_preemptor.setdefault(plan.preemptor, set())
        known |= {each.key for each in plan.victims.values() if each.key}

    def of(self, plan: Planned) -> frozenset[str]:
        """All of them (keys), those of the plan included."""
        return frozenset(self._by_preemptor.get(plan.preemptor, ()))

    def has(self, preemptor: str, key: str) -> bool:
        """Whether the Workload (key) is one of those of the preemptor (key)."""
        return key in self._by_preemptor.get(preemptor, ())

    def forget(self, preemptor: str) -> None:
        """The preemptor (key) has quota, or is gone."""
        self._by_preemptor.pop(preemptor, None)


def covers(plan: Planned, decision: Planned) -> bool:
    """Whether the plan does all that a later decision for the same Workload asks for.

    A later decision has fewer victims if some have left meanwhile.
    """
    same = (plan.uid, plan.generation, plan.priority, plan.queue, plan.usage) == (
        decision.uid,
        decision.generation,
        decision.priority,
        decision.queue,
        decision.usage,
    )
    return same and all(
        uid in plan.victims and plan.victims[uid].since == victim.since
        for uid, victim in decision.victims.items()
    )
