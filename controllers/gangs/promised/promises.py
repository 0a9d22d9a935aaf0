"""All that one process knows of promised room."""

from __future__ import annotations

from api.clock import Clock
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.account import Account
from controllers.gangs.promised.claims import Claims
from controllers.gangs.promised.leftover import Leftover
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.promised.workload_claims import WorkloadClaims
from controllers.gangs.writing.stored import StoredPlans
from nodes.state.tables import Tables

__all__ = ["Promises"]


class Promises:
    """Plans claim room, and so do Workloads whose pods do not exist yet. Filter grants some to pods on their way."""

    def __init__(self, tables: Tables, roster: Roster, clock: Clock) -> None:
        self.reservations = Reservations(clock)
        self.account = Account(roster, self.reservations)
        self.leftover = Leftover(tables, roster, self.reservations)
        self.claims = Claims(roster, self.reservations)
        self.workloads = WorkloadClaims(roster, self.reservations)

    @property
    def stored(self) -> StoredPlans:
        """The stored plans, of which those that go on claim room."""
        return self.claims.stored

    def has_asked(self, uid: str, node: str) -> bool:
        """Whether filter let the pod onto the node, or a plan claims room for it somewhere."""
        return self.reservations.grants.covers(uid, node) or self.reservations.claimant(uid) is not None
