"""Reads Kueue's queues, flavors and workloads for the commands about quota."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from answers.errors import InputError
from answers.reading.documents import Kind, Reader
from api.checks import AdmissionCheck
from api.kueue import API_VERSION, ClusterQueue, Cohort, LocalQueue, ResourceFlavor
from api.limits import LimitRange, RuntimeClass
from api.validation import FieldError
from api.words import some
from api.workloads import Workload
from quota.answers.picture import QuotaPicture
from quota.state.activity import named_checks
from quota.state.amounts import QuotaError
from quota.state.state import QuotaState
from quota.state.workloads import holds_quota, pod_set_requests, queue_timestamp, time_us

__all__ = ["QuotaObjects", "read_time"]


@contextmanager
def _field_named() -> Iterator[None]:
    """Turn a QuotaError into a FieldError: the caller adds the name of the object."""
    try:
        yield
    except QuotaError as error:
        raise FieldError(error.field, error.problem) from None


def _check_workload(workload: Workload) -> None:
    """For a Workload that waits: check everything that a decision would read, even if nobody asks for the decision."""
    if not holds_quota(workload):
        with _field_named():
            queue_timestamp(workload)
            pod_set_requests(workload)


class QuotaObjects(Reader):
    """The quota state that was read. Every method raises InputError for an object that cannot be used."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        (API_VERSION, "ResourceFlavor"): Kind(ResourceFlavor, False),
        (API_VERSION, "Cohort"): Kind(Cohort, False),
        (API_VERSION, "ClusterQueue"): Kind(ClusterQueue, False),
        (API_VERSION, "LocalQueue"): Kind(LocalQueue, True),
        (API_VERSION, "AdmissionCheck"): Kind(AdmissionCheck, False),
        ("v1", "LimitRange"): Kind(LimitRange, True),
        ("node.k8s.io/v1", "RuntimeClass"): Kind(RuntimeClass, False),
        (API_VERSION, "Workload"): Kind(Workload, True, _check_workload),
    }
    matter: ClassVar[str] = "quota"

    def __init__(self) -> None:
        super().__init__()
        self._state = QuotaState(partial=True, deactivated_hold=False)

    def keep(self, thing: Any, place: str) -> None:
        """Apply the object to the state."""
        with _field_named():
            self._state.apply(thing)

    def stray_notes(self) -> list[str]:
        """A line that names the holders whose quota counts nowhere. No line without such holders."""
        strays = [f"{holder.key} (ClusterQueue {holder.queue})" for holder in self._state.strays()]
        if not strays:
            return []
        return [f"Not counted, because the ClusterQueue does not exist: {some(strays)}"]

    def check_notes(self) -> list[str]:
        """A line about AdmissionChecks that count as active, because the objects contain no AdmissionCheck."""
        named = {name for queue in self._state.cluster_queues.values() for name in named_checks(queue.spec)}
        if not named or self._state.checks:
            return []
        return [f"Taken as active, because no AdmissionCheck is given: {some(sorted(named))}"]

    def picture(self) -> QuotaPicture:
        """What was read. Call it after the last object was read."""
        return QuotaPicture(self._state)


def read_time(text: str, field: str) -> int:
    """Microseconds since 1970. Raises InputError if the text is not an RFC 3339 time."""
    try:
        return time_us(text, field)
    except QuotaError as error:
        raise InputError(f"{field}: {error.problem}") from None
