"""What users see of gangs in one term: events and conditions of pods, and the status of PodGroups."""

from __future__ import annotations

from api.core import Pod
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey
from controllers.gangs.lifecycle.plan_seen import PlanSeen
from controllers.gangs.mirror.misread import Fault
from controllers.gangs.telling.events import Reporter
from controllers.gangs.telling.group_status import GroupStatusWriter
from controllers.gangs.writing.writes import Writes

__all__ = ["Telling"]


class Telling:
    """The reporter writes when something happens. The status of a PodGroup follows its gang, soon."""

    def __init__(self, reporter: Reporter, status: GroupStatusWriter, status_writes: Writes) -> None:
        self.reporter, self.status, self.status_writes = reporter, status, status_writes

    def looked(self, plan: ActivePlan, seen: PlanSeen) -> None:
        """The planner has looked at a plan. `moved` follows."""
        self.status.looked(plan, seen)

    def moved(self, key: GroupKey) -> None:
        """Something has happened to the gang."""
        self.status.moved(key)

    def mixed_priorities(self, key: GroupKey) -> None:
        """The running pods of a group of another kind have come to have several priorities."""
        self.reporter.mixed_priorities(key)

    def asked_about(self, pod: Pod) -> None:
        """A scheduler asked us about the pod: its user hears of what is ambiguous in it, or cannot be read."""
        self.reporter.ambiguous_group(pod)
        self.reporter.misread_pod(pod)

    def misread(self, fault: Fault) -> None:
        """Annotations of an owner or a namespace cannot be read."""
        self.reporter.misread(*fault)

    def unknown_group(self, pod: Pod, group: GroupKey) -> None:
        """The pod's label names a group that does not exist."""
        self.reporter.unknown_group(pod, group)

    def nothing_to_evict(self, pod: Pod, reasons: list[str]) -> None:
        """The scheduler may evict nobody for the pod (a reason for each node)."""
        self.reporter.nothing_to_evict(pod, reasons)

    def forget(self, key: GroupKey) -> None:
        """The group is gone."""
        self.reporter.forget(key)
        self.status.forget(key)

    async def run(self) -> None:
        """Keep the status of PodGroups up to date, until cancelled."""
        await self.status.run()

    async def close(self) -> None:
        """Write nothing any longer."""
        await self.status_writes.close()
