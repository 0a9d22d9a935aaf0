"""Who evicts for a gang of kube-scheduler's own kind: the scheduler, or we.

A plan is steered if the scheduler's rule evicts the plan's victims, or others that cost no more by our score. In the
second case these become the plan's victims. Any other plan is driven: we evict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import msgspec
import numpy as np

from api import plans
from api.groups import goes_whole
from api.plans import Evictor, EvictorReason
from nodes.search.cluster import Cluster, lay_out
from nodes.search.preemptors.preemptor import Preemptor
from nodes.search.room import Room
from nodes.search.steering.candidates import Candidates, candidates, is_native
from nodes.search.steering.outcomes import Lost, outcomes
from nodes.search.steering.protected import protected
from nodes.search.steering.seen import as_seen
from nodes.search.steering.standing import Standing, TooMuchWork
from nodes.search.steering.weighing import Weighing
from nodes.search.steering.words import evictor_words
from nodes.state.columns.flags import KEPT, NEVER, STAYING, TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = ["PLACES", "Verdict", "who_evicts"]

PLACES: Final = ("Fits", "Preempts")
"""Outcomes of plans that place their gang."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who evicts for a plan, and why."""

    by: Evictor
    reason: EvictorReason
    spec: plans.PreemptionPlanSpec
    """The plan. Its victims are others only if `reason` is NoDearer."""


def who_evicts(
    snapshot: Snapshot,
    mirrored: Snapshot,
    preemptor: Preemptor,
    spec: plans.PreemptionPlanSpec,
    *,
    drive: bool = False,
) -> Verdict:
    """Who evicts for the plan of a native gang.

    `snapshot`: what the plan was made from. `mirrored`: what the API server shows, without promised room. Both have the
    same rows. `spec`: a plan that places the gang. `drive`: whether every plan is to be driven
    (planning.nativeGroups).

    The filters count as in the search: what is not modelled does not decide here either.
    """
    if spec.outcome not in PLACES:
        raise ValueError(f"a plan with the outcome {spec.outcome} places no pod")
    placed = _placed(snapshot, spec)
    reason = _reason_to_drive(snapshot, preemptor, spec, drive=drive)
    if reason is None and _never_preempts(snapshot, preemptor):
        found = Verdict("Scheduler", "SameVictims", spec)
    elif reason is None:
        found = _Comparison(snapshot, mirrored, _asking_for(preemptor, placed), placed).verdict(spec)
    else:
        found = Verdict("Reprieve", reason, spec)
    return replace(found, spec=_stated(found))


def _placed(snapshot: Snapshot, spec: plans.PreemptionPlanSpec) -> list[tuple[int, int]]:
    """The planned members, as pairs of (pod, node). The others are held until these are bound."""
    nodes = {name: row for row, name in enumerate(snapshot.node_names) if snapshot.node_live[row]}
    needed = (each for each in spec.placements if not each.beyond_min_count)
    return [(snapshot.pod_rows[each.uid], nodes[each.node]) for each in needed]


def _asking_for(preemptor: Preemptor, placed: list[tuple[int, int]]) -> Preemptor:
    """The preemptor with the planned members first."""
    first = [pod for pod, _ in placed]
    return replace(preemptor, unbound=(*first, *(pod for pod in preemptor.unbound if pod not in {*first})))


def _reason_to_drive(
    snapshot: Snapshot, preemptor: Preemptor, spec: plans.PreemptionPlanSpec, *, drive: bool
) -> EvictorReason | None:
    """Why the plan is driven whatever the scheduler's rule says; None if nothing speaks against steering it."""
    if drive:
        return "DriveMode"
    if preemptor.topology_key is not None:
        return "TopologyConstraint"
    if preemptor.budgets == "Respect":
        return "BudgetsRespected"
    if any(each.any_node or each.wave is not msgspec.UNSET for each in spec.placements):
        return "NotProven"
    if any(_is_unknown(snapshot, victim) for victim in spec.victims):
        return "UnknownUnit"
    return None


def _is_unknown(snapshot: Snapshot, victim: plans.Victim) -> bool:
    """Whether the victim is a unit that the scheduler does not know: a group that is not its own."""
    rows = (snapshot.pod_rows.get(pod.uid) for pod in victim.pods)
    groups = {int(snapshot.pod_group[row]) for row in rows if row is not None}
    return victim.kind == "PodGroup" and not all(
        row >= 0 and is_native(snapshot.groups[row]) for row in groups
    )


def _never_preempts(snapshot: Snapshot, preemptor: Preemptor) -> bool:
    """Whether the scheduler evicts nobody for the gang. Without an alpha gate only the members' policies count.

    Upstream: `resolvePreemptionPolicy` (types.go).
    """
    flags = snapshot.pod_flags[list(preemptor.unbound)]
    return not preemptor.evicts and len(flags) > 0 and bool((flags & NEVER).all())


class _Comparison:
    """What the scheduler's rule does with one plan."""

    def __init__(
        self, snapshot: Snapshot, mirrored: Snapshot, preemptor: Preemptor, placed: list[tuple[int, int]]
    ) -> None:
        self._snapshot, self._preemptor, self._placed = snapshot, preemptor, placed
        self._seen = as_seen(mirrored, preemptor.unbound, preemptor.priority)
        self._found: Candidates = candidates(self._seen, preemptor.priority)
        self._leaving = (mirrored.pod_flags & TERMINATING) > 0

    def verdict(self, spec: plans.PreemptionPlanSpec) -> Verdict:
        """The comparison of the plan's victims with those of the rule."""
        cluster = Cluster(self._seen, self._preemptor, lay_out(self._seen, self._preemptor))
        standing = Standing(cluster, self._found, self._placed)
        if not standing.feasible:
            return Verdict("Reprieve", "NotFeasible", spec)
        if any(self._leaving[pod] for pod in standing.counted):  # spread does not count them, affinity does
            return Verdict("Reprieve", "NotProven", spec)
        try:
            results = outcomes(standing, self._found, protected(self._seen, self._found))
        except TooMuchWork:
            return Verdict("Reprieve", "NotProven", spec)
        planned = frozenset(self._snapshot.pod_rows[pod.uid] for each in spec.victims for pod in each.pods)
        others = [lost for lost in results if not self._is_same(standing, lost, planned)]
        if not others:
            return Verdict("Scheduler", "SameVictims", spec)
        return self._weighed(spec, planned, others, has_same=len(others) < len(results))

    def _is_same(self, standing: Standing, lost: Lost, planned: frozenset[int]) -> bool:
        """Whether these units are the plan's victims, or differ only in units that are as important and look alike."""
        if self._evicted(lost) == planned:
            return True
        units = self._units_of(planned)
        if units is None:
            return False
        mine, theirs = {*units} - {*lost}, {*self._live(lost)} - {*units}
        keys = [
            sorted(
                (self._found.tie(unit), standing.looks(unit)) for unit in each if unit in standing.relevant
            )
            for each in (mine, theirs)
        ]
        return len(keys[0]) == len(mine) and len(keys[1]) == len(theirs) and keys[0] == keys[1]

    def _weighed(
        self, spec: plans.PreemptionPlanSpec, planned: frozenset[int], others: list[Lost], *, has_same: bool
    ) -> Verdict:
        """The verdict if the rule may evict others than the plan's victims, one way or the other."""
        weighing = Weighing(self._snapshot, self._preemptor)
        sets = [self._evicted(lost) for lost in others]
        for evicted in sets:
            if (
                not evicted and planned
            ):  # in the scheduler's view there is more free room than we may plan with
                return Verdict("Reprieve", "PromisedRoom", spec)
            if (reason := self._against(weighing, evicted)) is not None:
                return Verdict("Reprieve", reason, spec)
        if any(weighing.cost(evicted) > weighing.cost(planned) for evicted in sets):
            return Verdict("Reprieve", "OtherVictims", spec)
        if has_same:
            return Verdict("Scheduler", "SameVictims", spec)
        return Verdict("Scheduler", "NoDearer", weighing.with_victims(spec, min(sets, key=weighing.cost)))

    def _against(self, weighing: Weighing, evicted: frozenset[int]) -> EvictorReason | None:
        """Why these pods cannot become the plan's victims; None if they can."""
        snapshot, rows = self._snapshot, sorted(evicted)
        if any(int(snapshot.pod_flags[pod]) & (KEPT | STAYING) for pod in rows):
            return "PodStays"
        groups = (snapshot.groups[row] for pod in rows if (row := int(snapshot.pod_group[pod])) >= 0)
        if any(goes_whole(group) and not is_native(group) for group in groups):
            return "UnknownUnit"
        if not weighing.may_evict(evicted):
            return "OtherVictims"
        return None if self._fits_without(rows) else "PromisedRoom"

    def _fits_without(self, evicted: list[int]) -> bool:
        """Whether the members fit without these pods, and without room that is promised to others."""
        cluster = Cluster(self._snapshot, self._preemptor, lay_out(self._snapshot, self._preemptor))
        room = Room(cluster, evicted)
        for pod, node in self._placed:
            if not room.fits(pod, np.array([node]))[0]:
                return False
            room.place(pod, node)
        return True

    # ---- units and pods

    def _live(self, lost: Lost) -> list[int]:
        """The units that have a pod that does not terminate. The others leave by themselves."""
        return [unit for unit in lost if not all(self._leaving[pod] for pod in self._found.members(unit))]

    def _evicted(self, lost: Lost) -> frozenset[int]:
        """The pods of these units that do not terminate already."""
        return frozenset(pod for unit in lost for pod in self._found.members(unit) if not self._leaving[pod])

    def _units_of(self, pods: frozenset[int]) -> list[int] | None:
        """The scheduler's units that these pods are; None if they are only a part of one, or in none."""
        here = np.isin(self._found.pods, list(pods))
        units: list[int] = np.unique(self._found.units_of_pods()[here]).tolist()
        return units if self._evicted(tuple(units)) == pods else None


def _stated(found: Verdict) -> plans.PreemptionPlanSpec:
    """The plan, which says who evicts and why."""
    reason = f"{found.spec.reason}; {evictor_words(found.by, found.reason)}"
    return msgspec.structs.replace(
        found.spec, evicted_by=found.by, evictor_reason=found.reason, reason=reason
    )
