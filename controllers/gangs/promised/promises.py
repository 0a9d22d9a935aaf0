"""All that one process knows of promised room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from api.clock import Clock
from api.core import Pod
from controllers.gangs.mirror.group_members import Requests
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import Account
from controllers.gangs.promised.claims import Claims
from controllers.gangs.promised.leftover import Leftover
from controllers.gangs.promised.on_the_way import OnTheWay
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.promised.spared import Spared
from controllers.gangs.promised.workload_claims import WorkloadClaims
from controllers.gangs.writing.stored import StoredPlans
from nodes.state.tables import Tables

__all__ = ["Promises"]


class Promises:
    """Plans claim room, and so do Workloads whose pods do not exist yet. Filter grants some to pods on their way."""

    def __init__(self, tables: Tables, roster: Roster, clock: Clock) -> None:
        self._roster = roster
        self.reservations = Reservations(clock)
        self.account = Account(roster, self.reservations)
        self.leftover = Leftover(tables, roster, self.reservations)
        self.claims = Claims(roster, self.reservations)
        self.spared = Spared(tables, roster, clock)
        self.on_the_way = OnTheWay(clock)
        self.workloads = WorkloadClaims(roster, self.reservations)

    @property
    def stored(self) -> StoredPlans:
        """The stored plans. Those that are active claim room."""
        return self.claims.stored

    def __bool__(self) -> bool:
        """Whether any room is promised."""
        return len(self.reservations) > 0

    def is_reserved(self, node: str, *, at_least: int | None = None) -> bool:
        """See `Reservations.is_reserved`."""
        return self.reservations.is_reserved(node, at_least=at_least)

    def awaits(self, uid: str, *, at_least: int | None = None) -> bool:
        """See `Reservations.awaits`."""
        return self.reservations.awaits(uid, at_least=at_least)

    def claims_for(self, uid: str) -> bool:
        """Whether a plan claims room for the pod."""
        return self.reservations.claimant(uid) is not None

    # ---- attempts of a scheduler

    def attempted(self, pod: Pod) -> None:
        """The scheduler tries the pod: what filter granted it in an earlier attempt counts no longer."""
        self.reservations.grants.settle(pod.metadata.uid)
        self.on_the_way.settle(pod.metadata.uid)
        self.spared.attempted(pod)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The tables have a new state of a pod; None when it is gone."""
        self.claims.pod_changed(uid, pod)
        self.on_the_way.pod_changed(uid, pod)
        self.spared.pod_changed(uid, pod)

    def let_pass(self, pod: Pod, requests: Requests, priority: int, names: Iterable[str]) -> list[str]:
        """Grant the pod what is left to its priority on the named nodes. Returns those where nothing is left to it."""
        judged = self.leftover.judge(pod.metadata.uid, requests, priority, names)
        if judged.open:
            self.reservations.grants.note(pod, judged.open, requests)
        return judged.barred

    def let_through(self, pod: Pod, nodes: Collection[str]) -> None:
        """The scheduler may put the pod on one of these nodes, or nominate it there. None named: on any node."""
        self.on_the_way.note(pod, nodes, self._roster.asks_for(pod))

    def coming(self, pod: Pod, node: str) -> Requests:
        """What all other pods may take on the node that the mirror does not show there yet, each of them once.

        These are the pods that filter let onto it, and those that are nominated to it. A nominated pod of lower own
        priority is not in this pod's way.
        """
        own, grants = pod.metadata.uid, self.reservations.grants
        total = Counter[str]()
        counted = {own}
        for grant in grants.values():
            if grant.pod != own and node in grant.nodes:
                total.update(grant.requests)
                counted.add(grant.pod)
        for nominee in self._roster.nominees(node, at_least=pod.spec.priority or 0):
            if nominee.uid not in counted:
                total.update(nominee.requests)
                counted.add(nominee.uid)
        total.update(self.on_the_way.taking(node, counted.__contains__))
        return total

    def has_asked(self, uid: str, node: str) -> bool:
        """Whether filter let the pod onto the node, or a plan claims room for it somewhere."""
        return self.reservations.grants.covers(uid, node) or self.claims_for(uid)
