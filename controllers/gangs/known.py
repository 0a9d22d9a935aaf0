"""What every process knows, and hands to what acts in a term."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from api.clock import Clock
from api.groups import PodGroup
from api.plans import PreemptionPlan
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.marked_pods import MarkedPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import WaitingPods
from controllers.gangs.promised.claims import Claims
from controllers.gangs.promised.leftover import Leftover
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from controllers.gangs.waking.parked import ParkedPods
from nodes.state.tables import Tables
from runtime.exchange.owner_stops import OwnerStops
from runtime.exchange.queued_groups import QueuedGroups

__all__ = ["Known"]


@dataclass(frozen=True, slots=True)
class Known:
    """What every process knows: projections of watched objects."""

    tables: Tables
    roster: Roster
    reservations: Reservations
    leftover: Leftover
    claims: Claims
    waiting: WaitingPods
    parked: ParkedPods
    gated: GatedPods
    marked: MarkedPods
    scheduler: SchedulerConfiguration
    clock: Clock
    apply_plan: Callable[[PreemptionPlan], object]
    """Take a plan that the API server has answered with, before the watch shows it."""
    apply_group: Callable[[PodGroup], object]
    """The same for a PodGroup."""
    is_trusted: Callable[[], bool]
    """Whether the mirror may be trusted. Without it nobody is evicted."""
    tell_time: Callable[[], bool]
    """Have the tables know which pods are overdue; whether that has changed for any pod."""
    queued: QueuedGroups
    """Which PodGroups wait for quota or have lost it."""
    stops: OwnerStops
    """Whoever runs the Jobs whose pods are evicted."""
