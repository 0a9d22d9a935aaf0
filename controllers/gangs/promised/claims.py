"""Promised room as a projection: what the stored plans and the pods that exist say, alike in every process.

A leader adds its own word where the watch does not show it yet: a plan that it is about to store, or has just ended.

See docs/decisions/0023.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from api.core import Pod
from api.plan_names import PlanKey
from api.plans import PreemptionPlanSpec
from controllers.gangs.keys import key_of
from controllers.gangs.lifecycle.stored_plan import Owner, owner_of
from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.writing.stored import StoredPlans

__all__ = ["Claims"]


class _Word(NamedTuple):
    """What this process last said of a preemptor; `spec` is None for a plan that it has ended."""

    key: PlanKey
    spec: PreemptionPlanSpec | None


@dataclass(slots=True)
class _Current:
    """A preemptor's plan that claims room."""

    key: PlanKey
    spec: PreemptionPlanSpec
    nodes: dict[str, str] = field(default_factory=dict)
    """Planned node by UID, of the pods that the plan claims room for."""
    victims: set[str] = field(default_factory=set)


class Claims:
    """Keeps the reservations in step with the stored plans and the pods."""

    def __init__(self, roster: Roster, reservations: Reservations) -> None:
        self._roster, self._reservations = roster, reservations
        self.stored = StoredPlans(self._plans_changed)
        self._words: dict[Owner, _Word] = {}
        self._current: dict[Owner, _Current] = {}
        self._by_pod: dict[str, set[Owner]] = {}
        """The preemptors whose plan places or evicts a pod, by its UID."""

    # ---- a leader's own word

    def propose(self, key: PlanKey, spec: PreemptionPlanSpec) -> None:
        """The plan is about to be stored. Its room counts from now on, so that nobody takes it meanwhile."""
        self._words[_owner(spec)] = _Word(key, spec)
        self._refresh(_owner(spec))

    def withdraw(self, key: PlanKey, spec: PreemptionPlanSpec) -> None:
        """The plan has ended, or could not be stored. Its room is free from now on, whatever the watch still shows."""
        self._words[_owner(spec)] = _Word(key, None)
        self._plans_changed(_owner(spec))

    def has_victim(self, uid: str) -> bool:
        """Whether a plan that goes on evicts the pod."""
        return any(uid in self._current[owner].victims for owner in self._by_pod.get(uid, ()))

    def forget_words(self) -> None:
        """The term is over: what counts is what the watch shows. What was proposed last may never be stored."""
        owners = list(self._words)
        self._words.clear()
        for owner in owners:
            self._refresh(owner)

    # ---- what is watched

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The tables have a new state of a pod; None when it is gone."""
        self._reservations.grants.pod_changed(uid, pod)
        self.overdue_changed(uid)

    def overdue_changed(self, uid: str) -> None:
        """The tables say of a pod that it is overdue, or that it is not any longer (`Tables.tell_time`)."""
        for owner in self._by_pod.get(uid, ()):
            self._settle(self._current[owner], uid)

    def _plans_changed(self, owner: Owner) -> None:
        word = self._words.get(owner)
        if word is not None:
            stored = self.stored.get(word.key)
            shows_active = stored is not None and stored.active is not None
            if shows_active == (word.spec is not None):
                del self._words[owner]
        self._refresh(owner)

    def _refresh(self, owner: Owner) -> None:
        word, current = self._words.get(owner), self._current.get(owner)
        stored = self.stored.to_carry_out(owner)
        key, spec = (
            word if word is not None else (stored.key, stored.active) if stored is not None else (None, None)
        )
        if key is None or spec is None:
            self._release(owner)
        elif current is None or current.key != key:
            self._hold(owner, key, spec)

    # ---- reservations

    def _hold(self, owner: Owner, key: PlanKey, spec: PreemptionPlanSpec) -> None:
        self._release(owner)
        current = self._current[owner] = _Current(key, spec)
        for placement in spec.placements:
            if not (placement.beyond_min_count or placement.any_node):
                current.nodes[placement.uid] = placement.node
        current.victims.update(pod.uid for victim in spec.victims for pod in victim.pods)
        for uid in current.nodes.keys() | current.victims:
            self._by_pod.setdefault(uid, set()).add(owner)
        group = key_of(spec.preemptor)
        self._reservations.open(group, spec.preemptor.priority, current.victims)
        for uid in (*current.nodes, *current.victims):
            self._settle(current, uid)

    def _settle(self, current: _Current, uid: str) -> None:
        """What the pod holds or will hold, as the tables have it now."""
        spec, node = current.spec, current.nodes.get(uid)
        group = key_of(spec.preemptor)
        requests = self._roster.planned_requests(spec, uid) if node is not None else None
        claim = Claim(node, requests) if node is not None and requests is not None else None
        self._reservations.put_claim(group, uid, claim)
        if uid in current.victims:
            running, leaving = self._roster.evictable(uid), self._roster.leaving(uid)
            self._reservations.put_victim(group, uid, running or leaving, leaving=leaving is not None)

    def _release(self, owner: Owner) -> None:
        current = self._current.pop(owner, None)
        if current is None:
            return
        self._reservations.release(key_of(current.spec.preemptor))
        for uid in current.nodes.keys() | current.victims:
            owners = self._by_pod[uid]
            owners.discard(owner)
            for other in owners:
                self._settle(
                    self._current[other], uid
                )  # the claim for a pod may have passed from its plan to ours
            if not owners:
                del self._by_pod[uid]


def _owner(spec: PreemptionPlanSpec) -> Owner:
    return owner_of(key_of(spec.preemptor))
