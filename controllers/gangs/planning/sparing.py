"""What plans spare because of earlier evictions: pods on nodes where freed room was taken, and owners in a cycle."""

from __future__ import annotations

from typing import Final

from api.clock import Clock
from controllers.gangs.lifecycle.cycles import cycles
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.vain import taken_until
from controllers.gangs.metrics import CYCLES
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.planning.refusals import spare_nodes, spare_pods
from controllers.gangs.telling.events import Reporter
from controllers.gangs.writing.stored import StoredPlans
from nodes.state.snapshot import Snapshot

__all__ = ["Sparing"]

TAKEN_SECONDS: Final = 600.0
"""How long no plan evicts on a node where pods that never came to the extender took the room that a plan had made. Each
further time doubles it."""
CYCLE_SECONDS: Final = 600.0
"""How long owners that evicted each other spare each other, and a group spares an owner whose pods it evicted three
times."""


class Sparing:
    """The nodes on which nobody is evicted for a while, and the owners that a gang spares. Stored plans say both."""

    def __init__(
        self,
        roster: Roster,
        stored: StoredPlans,
        reporter: Reporter,
        clock: Clock,
        *,
        taken_seconds: float = TAKEN_SECONDS,
        cycle_seconds: float = CYCLE_SECONDS,
    ) -> None:
        self._roster, self._stored, self._reporter, self._clock = roster, stored, reporter, clock
        self._taken_seconds, self._cycle_seconds = taken_seconds, cycle_seconds
        self._nodes: frozenset[str] = frozenset()
        """Spared when this was last asked."""
        self._told: dict[tuple[GroupKey, str], float] = {}
        """Cycles of which users were told: until when they last (seconds since the epoch), by group and owner."""

    def __len__(self) -> int:
        """What will end with time."""
        return len(self._nodes) + len(self._told)

    def apply(self, snapshot: Snapshot, group: GroupKey) -> Snapshot:
        """The snapshot in which the group's next plan can evict no pod that it should spare."""
        snapshot = spare_nodes(snapshot, self._spared_nodes())
        there = self._roster.group(group)
        if there is None:
            return snapshot
        now = self._clock.wall()
        found = cycles(there.metadata.uid, self._stored.evicted_for, now, self._cycle_seconds)
        for owner, cycle in found.items():
            pods = self._roster.owners.pods(owner)
            if pods:
                self._tell(group, owner, pods[0], cycle.until, mutual=cycle.mutual)
            snapshot = spare_pods(snapshot, pods)
        return snapshot

    def spares(self, group: GroupKey) -> bool:
        """Whether the group spares an owner because of a cycle."""
        return any(told == group for told, _ in self._told)

    def expire(self) -> bool:
        """Whether somebody may go now who was spared until now."""
        now, before = self._clock.wall(), self._nodes
        over = [key for key, until in self._told.items() if until <= now]
        for key in over:
            del self._told[key]
        return bool(over or before - self._spared_nodes())

    def _spared_nodes(self) -> frozenset[str]:
        until = taken_until(self._stored.with_taken_nodes, self._taken_seconds)
        now = self._clock.wall()
        self._nodes = frozenset(node for node, end in until.items() if now < end)
        return self._nodes

    def _tell(self, group: GroupKey, owner: str, example: str, until: float, *, mutual: bool) -> None:
        """Each cycle once."""
        if (group, owner) not in self._told:
            CYCLES.inc()
            self._reporter.preemption_cycle(group, self._roster.owners.of(example), mutual=mutual)
        self._told[group, owner] = until
