"""Decides about one Workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from answers.errors import InputError
from answers.quota_data import plain
from api.unmodelled import UNKNOWN
from api.validation import FieldError
from api.workloads import FINISHED, QUOTA_RESERVED, Workload
from quota.answers.picture import QuotaPicture
from quota.answers.selected import Namespaces, taking
from quota.answers.verdicts import doubts, gets_quota
from quota.answers.words import tried_again
from quota.cycle.admissible import admissible_in
from quota.cycle.entries import Entry
from quota.cycle.queues import backs_off, is_queued
from quota.search.decision import Decision, Options, decide
from quota.state.amounts import QuotaError
from quota.state.snapshot import QuotaSnapshot
from quota.state.workloads import local_queue_key

__all__ = ["QuotaAnswer", "pending", "quota"]

DONE: Final = {
    QUOTA_RESERVED: "is True: it has quota already",
    FINISHED: "is True: it does not wait for quota",
}
"""Workloads with one of these conditions need no decision."""


@dataclass(frozen=True, slots=True)
class QuotaAnswer:
    """The decision, and what it was made from."""

    decision: Decision
    workload: Workload
    snapshot: QuotaSnapshot
    moment: int
    """In microseconds since 1970."""
    doubts: tuple[str, ...] = ()
    """Names of what is not modelled and could make the decision another one."""
    tried_again: str = ""
    """When it is tried again, if it backs off: before that it gets no quota."""

    @property
    def gets_quota(self) -> bool:
        """Whether it is known that the Workload gets its quota, perhaps once others are gone."""
        return not self.doubts and gets_quota(self.decision)

    @property
    def verdict(self) -> str:
        """The mode of the decision, or Unknown."""
        return UNKNOWN if self.doubts else self.decision.mode

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return (
            plain(self.decision)
            | {"mode": self.verdict, "notModelled": list(self.doubts)}
            | ({"triedAgain": self.tried_again} if self.tried_again else {})
        )


def pending(picture: QuotaPicture, key: str, created: str | None = None) -> Workload:
    """The Workload `NAMESPACE/NAME`, if it waits for quota.

    `created` becomes its creationTimestamp if it has none. Without that, it would be older than any other.

    Raises InputError if there is no such object, and FieldError if it does not wait.
    """
    workload = picture.workloads.get(key)
    if workload is None:
        raise InputError(f"Workload {key}: there is no such object")
    _check_waiting(workload)
    meta = workload.metadata
    return replace(workload, metadata=replace(meta, creation_timestamp=meta.creation_timestamp or created))


def quota(
    picture: QuotaPicture,
    workload: Workload,
    moment: int,
    options: Options,
    *,
    explain: bool,
    namespaces: Namespaces | None = None,
) -> QuotaAnswer:
    """Whether the Workload gets its quota. `moment` is in microseconds since 1970.

    `namespaces`: the labels of those that are known. Without it, only the quota counts: not the LocalQueue's
    stopPolicy, the ClusterQueue's namespaceSelector, or the Workload's admission checks and gates. Raises QuotaError,
    also for a Workload that may not be admitted.
    """
    snapshot = picture.snapshot()
    decision = decide(snapshot, workload, moment, options, explain=explain)
    names = doubts(workload, decision, snapshot)
    if namespaces is None:
        return QuotaAnswer(decision, workload, snapshot, moment, names)
    unsure = _may_be_admitted(snapshot, workload, moment, namespaces)
    names += unsure if gets_quota(decision) else ()
    again = tried_again(workload) if backs_off(workload, moment) else ""
    return QuotaAnswer(decision, workload, snapshot, moment, names, again)


def _may_be_admitted(
    snapshot: QuotaSnapshot, workload: Workload, moment: int, namespaces: Namespaces
) -> tuple[str, ...]:
    """What is not known about that. Raises QuotaError if it may not be."""
    meta = workload.metadata
    subject = f"Workload {meta.namespace}/{meta.name}"
    if not is_queued(workload):
        raise QuotaError(
            subject, "metadata.annotations", "its admission is gated: it does not wait for quota"
        )
    local = snapshot.local_queues[local_queue_key(workload)]
    if local.spec.stop_policy != "None":
        name = f"LocalQueue {meta.namespace}/{local.metadata.name}"
        raise QuotaError(name, "spec.stopPolicy", f"is {local.spec.stop_policy}: it may admit no Workload")
    world, unsure = taking(snapshot, snapshot.queue_of(workload), meta.namespace, namespaces)
    found = admissible_in(world, workload, moment, namespaces)
    if isinstance(found, Entry):
        raise QuotaError(subject, "", f"it may not be admitted: {found.message}")
    return unsure


def _check_waiting(workload: Workload) -> None:
    if not workload.spec.active:
        raise FieldError("spec.active", "is false: it does not wait for quota")
    for condition in workload.status.conditions or ():
        if condition.status == "True" and condition.type in DONE:
            raise FieldError(f"status.conditions[{condition.type}]", DONE[condition.type])
