"""What every process knows, and hands to what acts in a term."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from api.clock import Clock
from api.groups import PodGroup
from api.plans import PreemptionPlan
from controllers.gangs.claims import Claims
from controllers.gangs.disruption import MarkedPods
from controllers.gangs.gated_pods import GatedPods
from controllers.gangs.leftover import Leftover
from controllers.gangs.parked import ParkedPods
from controllers.gangs.reservations import Reservations
from controllers.gangs.roster import Roster
from controllers.gangs.scheduler_configuration import SchedulerConfiguration
from controllers.gangs.waiting import WaitingPods
from nodes.state.tables import Tables
from runtime.owner_stops import OwnerStops
from runtime.queued_groups import QueuedGroups

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
