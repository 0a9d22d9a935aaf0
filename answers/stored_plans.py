"""The stored plans of one namespace, by those that they are about. Long ones are read when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import msgspec
from msgspec import UNSET

from api.plans import PreemptionPlan, PreemptionPlanSpec
from api.stored_plans import current_plan, is_observed

__all__ = ["NO_PLANS", "StoredPlan", "StoredPlans", "counted_victims", "stored"]


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """One of them."""

    brief: PreemptionPlan
    """Without its placements, victims and domains. It says how many victims there are."""
    about: frozenset[str]
    """UIDs: of the preemptor, and of an observed plan also those of the pods that it places."""
    whole: Callable[[], PreemptionPlan]
    """All of it, with the names that its namespace may not read, if they are known."""


def _brief(plan: PreemptionPlan) -> PreemptionPlan:
    """The plan without its long lists."""
    spec = msgspec.structs.replace(
        counted_victims(plan.spec),
        placements=[],
        victims=[],
        domains=[],
        other_domains=[],
        excluded=UNSET,
        compressed_victims=UNSET,
        compressed_placements=UNSET,
    )
    return msgspec.structs.replace(plan, spec=spec)


def counted_victims(spec: PreemptionPlanSpec) -> PreemptionPlanSpec:
    """The decision with the numbers of its victims, which those have that reprieve has stored."""
    if spec.victim_units is not UNSET or spec.compressed_victims is not UNSET:
        return spec
    pods = sum(len(each.pods) for each in spec.victims)
    return msgspec.structs.replace(spec, victim_units=len(spec.victims), victim_pods=pods or UNSET)


def stored(plan: PreemptionPlan, whole: Callable[[PreemptionPlan], PreemptionPlan]) -> StoredPlan:
    """The plan, whose placements are not compressed if it is observed. `whole` gets the brief one."""
    short = _brief(plan)
    placed = (each.uid for each in plan.spec.placements) if is_observed(plan) else ()
    return StoredPlan(short, frozenset((plan.spec.preemptor.uid, *placed)), partial(whole, short))


class StoredPlans:
    """The plans of a namespace. Nothing changes them."""

    def __init__(self, plans: Sequence[StoredPlan] = ()) -> None:
        self._plans = plans

    def __iter__(self) -> Iterator[StoredPlan]:
        return iter(self._plans)

    def find(self, name: str) -> StoredPlan | None:
        """The plan of this name; None if there is none."""
        return next((each for each in self._plans if each.brief.metadata.name == name), None)

    @cached_property
    def _about(self) -> Mapping[str, list[StoredPlan]]:
        """By UID."""
        found: dict[str, list[StoredPlan]] = {}
        for each in self._plans:
            for uid in each.about:
                found.setdefault(uid, []).append(each)
        return found

    def about(self, uids: Collection[str]) -> list[PreemptionPlan]:
        """The whole plans that are about one of these: a preemptor, or a pod that an observed plan places."""
        return [each.whole() for each in self._of(uids)]

    def for_list(self, uids: Collection[str]) -> list[PreemptionPlan]:
        """The same without their long lists, unless one of them is carried out: then a row needs all of it."""
        found = self._of(uids)
        plans = [each.brief for each in found]
        kinds = {each.spec.preemptor.kind for each in plans}
        goes_on = any(
            current_plan(plans, kind, uid, active=True) is not None for kind in kinds for uid in uids
        )
        return [each.whole() for each in found] if goes_on else plans

    def _of(self, uids: Collection[str]) -> list[StoredPlan]:
        found = {id(each): each for uid in uids for each in self._about.get(uid, ())}
        return list(found.values())


NO_PLANS: Final = StoredPlans()
