"""What tells users."""

from __future__ import annotations

from controllers.gangs.gangs import Gangs
from controllers.gangs.known import Known
from controllers.gangs.telling.events import Reporter
from controllers.gangs.telling.group_status import GroupStatusWriter
from controllers.gangs.telling.telling import Telling
from controllers.gangs.writing.pod_writer import PodWriter
from controllers.gangs.writing.writer import Writer
from controllers.gangs.writing.writes import Writes

__all__ = ["telling"]


def telling(known: Known, writer: Writer, pods: PodWriter | None, gangs: Gangs) -> Telling:
    """The status of PodGroups has writes of its own, so that no plan waits for them. `pods`: see `Reporter`."""
    roster, waiters = known.mirror.roster, known.waiters
    reporter = Reporter(writer, pods, roster, waiters.waiting, known.clock, gangs)
    writes = Writes(lambda _key: None)
    status = GroupStatusWriter(gangs, roster, waiters.gated, writer, writes, reporter.gathers, known.clock)
    return Telling(reporter, status, writes)
