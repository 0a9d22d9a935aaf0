"""What was evicted within the last hour, and which plans evicted in vain: a projection of the stored plans.

Every process has one. A plan that is deleted within the hour still counts. See docs/decisions/0112.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final

import structlog

from api.clock import Clock
from api.compression import expand
from api.plan_names import PlanKey
from api.plans import PreemptionPlan, PreemptionPlanSpec
from controllers.gangs.lifecycle.limits import HOUR_SECONDS, Evicted, Tally, namespaces_of, tally
from controllers.gangs.lifecycle.stored_plan import StoredPlan
from controllers.gangs.mirror.roster import Roster

__all__ = ["EvictedPods"]

log = structlog.get_logger(__name__)

VERDICT_SECONDS: Final = 2 * HOUR_SECONDS
"""How long a verdict matters: the last one of an hour stops evictions for another hour."""
SETTLE_SECONDS: Final = 10.0
"""After this time the mirror shows which victims of a plan that has ended stay."""


@dataclass(frozen=True, slots=True)
class _Entry:
    uid: str
    """Of the plan's object."""
    evicted: Evicted
    settled: bool = False
    """It evicts no more, and the victims that stay are left out."""


class EvictedPods:
    """Follows the stored plans of the nodes plane."""

    def __init__(self, roster: Roster, clock: Clock) -> None:
        self._roster, self._clock = roster, clock
        self._entries: dict[PlanKey, _Entry] = {}
        self._vain: dict[PlanKey, float] = {}
        self._tally: Tally | None = None
        self._tallied_until = 0.0

    def seen(self, plan: PreemptionPlan, stored: StoredPlan) -> None:
        """A plan is stored so. Its spec may be compressed."""
        if stored.in_vain is not None:
            self._vain[stored.key] = stored.in_vain.at
        before = self._entries.get(stored.key)
        is_known = before is not None and before.uid == stored.meta.uid
        until, evicts = stored.evicted_until, stored.evicts
        if not stored.evicted or not (is_known or evicts or self._clock.wall() < until + HOUR_SECONDS):
            return
        if before is None or not is_known or (before.settled and evicts):  # or it is carried out once more
            before = _Entry(stored.meta.uid, Evicted(self._read(plan), until))
        evicted = Evicted(before.evicted.pods, until, evicts)
        self._entries[stored.key] = replace(before, evicted=evicted)
        self._tally = None

    def _read(self, plan: PreemptionPlan) -> dict[str, str]:
        try:
            spec = expand(plan.spec)
        except ValueError as error:
            log.warning("the victims of a plan are not counted", plan=plan.metadata.name, error=str(error))
            return {}
        return {uid: namespace or self._namespace(uid) for uid, namespace in namespaces_of(spec).items()}

    def _namespace(self, uid: str) -> str:
        """A PreemptionPlan withholds it. The pod may still be there."""
        view = self._roster.view(uid)
        return view.namespace if view is not None else ""

    # ---- names that are withheld

    def unnamed(self) -> list[PlanKey]:
        """Plans with victims whose namespaces are not known. The pods must be synced."""
        self._settle()
        found = []
        for key, entry in self._entries.items():
            pods = entry.evicted.pods
            if not all(pods.values()):
                known = {uid: namespace or self._namespace(uid) for uid, namespace in pods.items()}
                self._put(key, entry, known)
                if not all(known.values()):
                    found.append(key)
        return found

    def named(self, key: PlanKey, spec: PreemptionPlanSpec) -> None:
        """The whole decision of a plan. Raises ValueError if it is damaged."""
        entry = self._entries.get(key)
        if entry is None:
            return
        names = namespaces_of(expand(spec))
        pods = {uid: place or names.get(uid, "") for uid, place in entry.evicted.pods.items()}
        self._put(key, entry, pods)

    def _put(self, key: PlanKey, entry: _Entry, pods: Mapping[str, str]) -> None:
        self._entries[key] = replace(entry, evicted=replace(entry.evicted, pods=pods))
        self._tally = None

    # ---- questions

    def tally(self) -> Tally:
        """What counts now. The pods must be synced."""
        now = self._clock.wall()
        if self._tally is None or now >= self._tallied_until:
            self._settle()
            self._tallied_until = min((_changes_at(each) for each in self._entries.values()), default=inf)
            self._tally = tally((each.evicted for each in self._entries.values()), now)
        return self._tally

    def in_vain(self) -> Iterable[float]:
        """When plans were found to be in vain, in seconds since the epoch."""
        now = self._clock.wall()
        self._vain = {key: at for key, at in self._vain.items() if now < at + VERDICT_SECONDS}
        return self._vain.values()

    def _settle(self) -> None:
        """Leave out what has ceased to count, and the victims that stayed when their plan ended early."""
        now = self._clock.wall()
        self._entries = {key: each for key, each in self._entries.items() if each.evicted.counts(now)}
        for key, entry in self._entries.items():
            evicted = entry.evicted
            if entry.settled or evicted.goes_on or now < evicted.at + SETTLE_SECONDS:
                continue
            pods = evicted.pods
            left = {uid: place for uid, place in pods.items() if self._roster.evictable(uid) is None}
            self._entries[key] = replace(entry, evicted=replace(evicted, pods=left), settled=True)


def _changes_at(entry: _Entry) -> float:
    """When time alone changes what counts of it, in seconds since the epoch."""
    if entry.evicted.goes_on:
        return inf
    return entry.evicted.until if entry.settled else entry.evicted.at + SETTLE_SECONDS
