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
from quota.answers.verdicts import doubts, gets_quota
from quota.search.decision import Decision, Options, decide
from quota.state.snapshot import QuotaSnapshot

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
        return plain(self.decision) | {"mode": self.verdict, "notModelled": list(self.doubts)}


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
    picture: QuotaPicture, workload: Workload, moment: int, options: Options, *, explain: bool
) -> QuotaAnswer:
    """Whether the Workload gets its quota. `moment` is in microseconds since 1970. Raises QuotaError."""
    snapshot = picture.snapshot()
    decision = decide(snapshot, workload, moment, options, explain=explain)
    names = doubts(workload, decision, snapshot)
    return QuotaAnswer(decision, workload, snapshot, moment, names)


def _check_waiting(workload: Workload) -> None:
    if not workload.spec.active:
        raise FieldError("spec.active", "is false: it does not wait for quota")
    for condition in workload.status.conditions or ():
        if condition.status == "True" and condition.type in DONE:
            raise FieldError(f"status.conditions[{condition.type}]", DONE[condition.type])
