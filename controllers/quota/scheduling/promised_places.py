"""Places on nodes that are promised with a preemption: what the stored plans and the Workloads say, alike in every
process.

A plan of a Workload names the nodes that its pods will find. They are promised from the plan's begin until the pods
exist, or until it is clear that they will not: the plan has ended and the Workload holds no quota.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from api.plan_names import PlanKey
from api.workloads import Workload
from controllers.quota.life.planned import Planned
from controllers.quota.plans.stored_plans import StoredPlans
from controllers.quota.scheduling.asking import asking_of, owner_of
from quota.state.state import QuotaState
from quota.state.workloads import holds_quota
from runtime.exchange.placements import Owner, Placements

__all__ = ["PromisedPlaces"]

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Held:
    """What is promised to a Workload."""

    uid: str
    """The Workload's."""
    plan: PlanKey
    had_quota: bool = False
    """Whether the Workload has had quota since then."""


class PromisedPlaces:
    """Everything runs on the event loop."""

    def __init__(self, placements: Placements, stored: StoredPlans, state: QuotaState) -> None:
        self._placements, self._stored, self._state = placements, stored, state
        self._held: dict[str, _Held] = {}
        """By key of a Workload."""
        self._missing: set[str] = set()
        """Keys of Workloads whose places could not be promised yet."""

    def again(self) -> None:
        """Nodes or pods changed, or have become known."""
        for key in list(self._missing):
            self.changed(key)

    def changed(self, key: str) -> None:
        """The Workload changed, or a plan whose preemptor it is."""
        self._missing.discard(key)
        held, workload = self._held.get(key), self._state.workloads.get(key)
        plan = self._stored.active(key, workload.metadata.uid) if workload is not None else None
        if workload is not None and plan is not None and plan.places:
            self._hold(key, workload, plan)
        elif held is not None and not self._keeps(held, workload):
            self._release(key)

    def _keeps(self, held: _Held, workload: Workload | None) -> bool:
        """Whether places stay promised after the plan: the Workload has its quota, and its pods are yet to come."""
        if workload is None or workload.metadata.uid != held.uid:
            return False
        if holds_quota(workload):
            held.had_quota = True
            return not workload.status.reclaimable_pods  # not all of its pods will come
        # The end of the plan may be seen before the quota of its preemptor.
        stored = self._stored.get(held.plan)
        return not held.had_quota and stored is not None and stored.reserved

    def _hold(self, key: str, workload: Workload, plan: Planned) -> None:
        held, owner = self._held.get(key), owner_of(workload)
        if owner is None or (held is not None and held.plan == plan.key):
            return
        if held is not None:
            self._release(key)
        try:
            asking = asking_of(workload, owner, self._state.surroundings, {}, None)
        except ValueError as error:
            log.warning("no places are promised", workload=key, error=str(error))
            return
        if self._placements.hold(asking, plan.places, self._victims(plan)):
            self._held[key] = _Held(plan.uid, plan.key)
        else:
            self._missing.add(key)

    def _victims(self, plan: Planned) -> list[Owner]:
        """The Workloads whose pods are evicted. A stored plan does not name those of other namespaces."""
        workloads = (each for each in self._state.workloads.values() if each.metadata.uid in plan.victims)
        owners = map(owner_of, workloads)
        return [each for each in owners if each is not None]

    def _release(self, key: str) -> None:
        held = self._held.pop(key)
        namespace, _, name = key.partition("/")
        self._placements.release(namespace, name, held.uid)
