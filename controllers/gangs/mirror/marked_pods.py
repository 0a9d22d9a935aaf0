"""The condition DisruptionTarget of a victim: our mark. It says which term wrote it.

See docs/decisions/0036.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from api.core import Pod
from api.disruption import DISRUPTION_TARGET
from api.meta import Condition
from api.preempted import PREEMPTION_BY_SCHEDULER, SIGNED
from runtime.terms.term import Term

__all__ = [
    "PREEMPTED",
    "Mark",
    "MarkedPods",
    "Signature",
    "mark_of",
    "reason_of_release",
]

PREEMPTED: Final = PREEMPTION_BY_SCHEDULER
PARTIAL_GANG_RELEASED: Final = "PartialGangReleased"
"""The reason where the bound members of a gang in pieces are evicted."""
QUOTA_WITHDRAWN: Final = "QuotaWithdrawn"
"""The reason where the bound members of a gang that has lost its quota are evicted."""
REASONS: Final = (PREEMPTED, PARTIAL_GANG_RELEASED, QUOTA_WITHDRAWN)


def reason_of_release(*, withdraws: bool) -> str:
    """The reason where the bound members of a gang are evicted by a plan of its own."""
    return QUOTA_WITHDRAWN if withdraws else PARTIAL_GANG_RELEASED


class Signature(NamedTuple):
    """The term that wrote a mark. No two terms have the same one."""

    number: int
    holder: str

    @classmethod
    def of(cls, term: Term) -> Signature:
        """The signature of all marks of the term."""
        return cls(term.number, term.holder)

    def sign(self, message: str) -> str:
        """The message of a mark."""
        return f"{message} [term {self.number} of {self.holder}]"


class Mark(NamedTuple):
    """A pod that has our mark and stays."""

    namespace: str
    name: str
    signature: Signature
    version: str
    """The resourceVersion of the pod in which the mark was seen."""


class MarkedPods:
    """The pods that have our mark and are not terminating: a projection of the watched pods."""

    def __init__(self) -> None:
        self._marks: dict[str, Mark] = {}

    def __iter__(self) -> Iterator[str]:
        """UIDs."""
        return iter(list(self._marks))

    def find(self, uid: str) -> Mark | None:
        """The mark of the pod; None if it has none, terminates, or is gone."""
        return self._marks.get(uid)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The tables have a new state of a pod; None when it is gone."""
        signature = mark_of(pod) if pod is not None and not pod.metadata.deletion_timestamp else None
        if pod is not None and signature is not None:
            meta = pod.metadata
            self._marks[uid] = Mark(meta.namespace, meta.name, signature, meta.resource_version)
        else:
            self._marks.pop(uid, None)


def mark_of(pod: Pod) -> Signature | None:
    """The term whose mark the pod has; None if it has none of ours."""
    return next(filter(None, map(_signature, pod.status.conditions or ())), None)


def _signature(condition: Condition) -> Signature | None:
    """The term that wrote the condition; None if it is not our mark."""
    if condition.type != DISRUPTION_TARGET or condition.status != "True":
        return None
    if condition.reason not in REASONS:
        return None
    found = SIGNED.search(condition.message)
    return Signature(int(found[1]), found[2]) if found is not None else None
