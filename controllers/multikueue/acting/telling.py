"""Events and metrics of what was done."""

from __future__ import annotations

from typing import Final, Literal

from api.clock import Clock
from api.times import rfc3339
from controllers.multikueue.life.belonging import belonging, find
from controllers.multikueue.life.decision import CloseGate, DeleteCopy, DeleteJob, EndTurn, OpenGate, There
from controllers.multikueue.life.seen import Seen
from controllers.multikueue.metrics import ADMITTED, DISPATCHED, ORPHANS, TO_GATE, TURNS
from kube.recorder import EventRecorder, Reference
from quota.state.workloads import reserved_at

__all__ = ["Telling"]

ACTION: Final = "Dispatching"
ROLE: Final = "leader"
"""Kueue's label `replica_role`: only the leader acts."""


class Telling:
    """In one term."""

    def __init__(self, recorder: EventRecorder, clock: Clock) -> None:
        self._recorder, self._clock = recorder, clock

    def dispatched(self, seen: Seen, cluster: str) -> None:
        """A copy was made."""
        DISPATCHED.labels(_queue(seen), cluster, ROLE).inc()

    def admitted(self, seen: Seen, cluster: str) -> None:
        """The cluster has the Workload, and its Job."""
        ADMITTED.labels(_queue(seen), cluster, ROLE).inc()
        note = f'The workload was admitted on "{cluster}"'
        self._of_job(seen, "Normal", "MultiKueue", note)
        self._of_workload(seen, "Normal", "MultiKueue", note)

    def acted(self, act: There, seen: Seen, cluster: str) -> None:
        """The act was carried out there."""
        name = seen.workload.metadata.name if seen.workload is not None else ""
        match act:
            case OpenGate(until=until):
                text = f"{cluster} may preempt for Workload {name} until {rfc3339(until / 1_000_000)}"
                self._of_workload(seen, "Normal", "PreemptionGateOpened", text)
                if seen.workload is not None and len(seen.turns) == 1:
                    TO_GATE.observe(max(0.0, self._clock.wall() - reserved_at(seen.workload) / 1_000_000))
            case CloseGate(why=why):
                text = f"{cluster} may no longer preempt for Workload {name}: {why}"
                self._of_workload(seen, "Normal", "PreemptionGateClosed", text)
            case DeleteCopy() | DeleteJob() if _is_left(act, seen, cluster):
                ORPHANS.labels(cluster, "Job" if isinstance(act, DeleteJob) else "Workload").inc()
            case _:
                pass

    def ended(self, end: EndTurn, cluster: str) -> None:
        """A DispatchPlan says what became of its turn."""
        TURNS.labels(cluster, end.phase).inc()

    # ---- the object of an event

    def _of_workload(self, seen: Seen, type_: Literal["Normal", "Warning"], reason: str, note: str) -> None:
        if seen.workload is not None:
            workload = Reference.of(seen.workload.api_version, seen.workload.kind, seen.workload.metadata)
            self._recorder.event(workload, type_, reason, ACTION, note)

    def _of_job(self, seen: Seen, type_: Literal["Normal", "Warning"], reason: str, note: str) -> None:
        if seen.job is not None:
            job = Reference.of("batch/v1", "Job", seen.job.metadata)
            self._recorder.event(job, type_, reason, ACTION, note)


def _is_left(act: DeleteCopy | DeleteJob, seen: Seen, cluster: str) -> bool:
    """Whether what was deleted belonged to no present attempt."""
    if not seen.attempt:
        return True
    where = find(seen, cluster)
    things = (where.copy, where.job) if where is not None else ()
    return any(
        thing is not None and thing.uid == act.uid and belonging(thing, seen, cluster) == "Former"
        for thing in things
    )


def _queue(seen: Seen) -> str:
    admission = seen.workload.status.admission if seen.workload is not None else None
    return admission.cluster_queue if admission is not None else ""
