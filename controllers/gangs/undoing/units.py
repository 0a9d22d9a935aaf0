"""Units that a plan of Enforce has begun to evict, where nothing is enforced any longer: they are finished.

Half a gang is of no use to anybody. A unit has begun if at least one of its pods is gone, and all that are left have
our mark: it was written before the first one was evicted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final

from api.plan_names import PlanKey
from api.plans import Victim
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.stored_plan import StoredPlan
from controllers.gangs.mirror.marked_pods import MarkedPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.withheld_names import with_names
from controllers.gangs.writing.stored import StoredPlans

__all__ = ["Units"]

FOR_EVER: Final = float("inf")


class Units:
    """Made for one term."""

    def __init__(
        self, stored: StoredPlans, marked: MarkedPods, roster: Roster, concerns: Callable[[str], bool]
    ) -> None:
        """`concerns`: whether the namespace is not enforced."""
        self._stored, self._marked, self._roster, self._concerns = stored, marked, roster, concerns
        self._finishing: dict[PlanKey, frozenset[str]] = {}
        """By plan: the pods (UIDs) of its units that are being finished."""
        self._victims: dict[PlanKey, frozenset[str]] = {}
        """By the same plans: all their victims. The marks of those that stay are withdrawn meanwhile."""
        self.is_victim: Callable[[str], bool] = lambda _uid: False
        """Whether a plan at work evicts the pod (UID): of a term that enforces other namespaces."""
        self.has_asked: Callable[[str], bool] = lambda _uid: False
        """Whether the deletion of the pod has been accepted in that term. The mirror shows it a moment later."""
        self._given_up: set[tuple[PlanKey, str]] = set()
        """By plan: units (UIDs) that could not be finished."""

    def __iter__(self) -> Iterator[ActivePlan]:
        """The plans that have units in pieces which nobody finishes yet."""
        for stored in list(self._stored):
            if stored.key not in self._finishing and self.of(stored):
                yield self._plan(stored)

    @property
    def is_busy(self) -> bool:
        """Whether units are being finished."""
        return bool(self._finishing)

    @property
    def count(self) -> int:
        """Units in pieces, whether or not they are being finished."""
        return sum(len(self.of(stored)) for stored in self._stored)

    def of(self, stored: StoredPlan) -> list[Victim]:
        """The units in pieces of a stored plan."""
        spec = stored.to_undo if stored.status.begun else None
        if spec is None or stored.observed:
            return []
        begun = frozenset(stored.status.begun or ())
        victims = (each for each in with_names(spec, self._roster).victims if each.uid in begun)
        return [each for each in victims if self._is_in_pieces(stored.key, each)]

    def _is_in_pieces(self, key: PlanKey, victim: Victim) -> bool:
        left = [pod for pod in victim.pods if pod.name and self._remains(pod.uid)]
        if not 0 < len(left) < len(victim.pods) or (key, victim.uid) in self._given_up:
            return False
        if not all(self._concerns(pod.namespace) for pod in left):
            return False
        return key in self._finishing or all(self._marked.find(pod.uid) is not None for pod in left)

    def _remains(self, uid: str) -> bool:
        return self._roster.evictable(uid) is not None and not self.has_asked(uid)

    def _plan(self, stored: StoredPlan) -> ActivePlan:
        spec = stored.to_undo
        if spec is None:
            raise ValueError(f"plan {stored.meta.name} has nothing to finish")
        spec = with_names(spec, self._roster)
        return ActivePlan(
            name=stored.meta.name,
            spec=spec,
            members=self._roster.planned(spec),
            deadline=FOR_EVER,
            phase="Evicting",
            stored=True,
            begun=True,
        )

    def begin(self, plan: ActivePlan) -> None:
        """The units in pieces of this plan are being finished from now on."""
        key = plan.namespace, plan.name
        stored = self._stored.get(key)
        units = self.of(stored) if stored is not None else ()
        self._finishing[key] = frozenset(pod.uid for unit in units for pod in unit.pods)
        self._victims[key] = plan.victims

    def finishes(self, uid: str) -> bool:
        """Whether the pod is of a unit in pieces, which is to be finished."""
        if any(uid in pods for pods in self._finishing.values()):
            return True
        units = (unit for stored in self._stored for unit in self.of(stored))
        return any(pod.uid == uid for unit in units for pod in unit.pods)

    def has_victim(self, uid: str) -> bool:
        """Whether it is a victim of a plan whose units are being finished, or whose marks are being withdrawn."""
        return self.is_victim(uid) or any(uid in pods for pods in self._victims.values())

    def settle(self, at_work: Collection[PlanKey]) -> set[str]:
        """Forget the plans that nobody works on any longer: what is left of their units stays.

        Returns the victims (UIDs) of those plans.
        """
        pods = set[str]()
        for key in [key for key in self._finishing if key not in at_work]:
            stored = self._stored.get(key)
            self._given_up |= {(key, unit.uid) for unit in self.of(stored)} if stored is not None else set()
            del self._finishing[key]
            pods |= self._victims.pop(key)
        return pods
