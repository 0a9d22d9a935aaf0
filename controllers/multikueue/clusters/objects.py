"""What is read of the objects of a worker cluster, and the small form in which it is kept.

The texts of a worker are not trusted: they are cut to a length, and what has another shape is not taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from sys import intern
from typing import Any, Final

import msgspec
import orjson

from api.jobs import JobStatus
from api.meta import Condition, ObjectMeta, Struct
from api.multikueue import DISPATCHED_BY, FENCED_BY, MULTIKUEUE_GATE, PREBUILT_WORKLOAD_ANNOTATION
from api.names import is_subdomain
from api.times import parse_rfc3339
from api.workloads import (
    ADMITTED,
    BLOCKED_ON_PREEMPTION_GATES,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
)
from controllers.multikueue.life.digests import digest
from controllers.multikueue.life.seen import Copy, Cost, GatePosition, Mark, RemoteJob, Said
from kube.envelopes import OnlyMetadata
from kube.errors import ApiError

__all__ = ["CostObject", "CopyObject", "JobObject", "copy_of", "cost_of", "job_of", "metadata_in"]

KEPT: Final = frozenset(
    {QUOTA_RESERVED, ADMITTED, EVICTED, FINISHED, BLOCKED_ON_PREEMPTION_GATES, DEACTIVATION_TARGET}
)
"""The conditions that decide something."""
MESSAGE: Final = 1024
"""The maximum number of characters of a text that is kept."""
REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]{0,1022}[A-Za-z0-9_])?")
"""What the API server here takes as a reason (meta/v1 Condition)."""
ODD_REASON: Final = "Unknown"
"""In place of a reason that it would refuse, for ever."""
MOST: Final = 2**63 - 1
"""Of a number in a DispatchPlan."""
PROPOSED: Final = "Proposed"
LONGEST: Final = 253
"""Characters of a UID and a resourceVersion. No API server has longer ones."""
MOST_STATUS: Final = 3 << 19
"""Bytes of a Job's status: etcd takes no larger object."""
REMEMBERED: Final = 20_000
"""How many digests are remembered. One takes about 200 bytes."""


class _Gate(Struct):
    """kueue/v1beta2 PreemptionGate, and PreemptionGateState."""

    name: str = ""
    position: str = ""
    last_transition_time: str | None = None


class _ClassRef(Struct):
    """kueue/v1beta2 PriorityClassRef, in part."""

    kind: str = ""
    name: str = ""


class _Spec(Struct):
    """kueue/v1beta2 WorkloadSpec, as far as it is kept."""

    priority: int | None = None
    priority_class_ref: _ClassRef | None = None
    active: bool | None = None
    preemption_gates: list[_Gate] | None = None


class _Status(Struct):
    """kueue/v1beta2 WorkloadStatus, as far as it is kept."""

    conditions: list[Condition] | None = None
    preemption_gates: list[_Gate] | None = None


class CopyObject(Struct):
    """A Workload in a worker cluster."""

    metadata: ObjectMeta
    spec: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"{}"))
    status: _Status | None = None


class _JobSpec(Struct):
    """batch/v1 JobSpec, as far as it is kept."""

    suspend: bool | None = None


class JobObject(Struct):
    """A Job in a worker cluster."""

    metadata: ObjectMeta
    spec: _JobSpec = msgspec.field(default_factory=_JobSpec)
    status: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"{}"))


class _CostFields(Struct):
    """What a preemption would cost, as a plan says it."""

    highest_victim_priority: int | None = None
    priority_sum: int = 0
    workloads: int = 0
    pods: int = 0
    pod_seconds: int = 0


class _Quota(Struct):
    """The quota that a plan's preemptor asks for, in part."""

    cluster_queue: str = ""


class _Preemptor(Struct):
    """The preemptor of a plan, in part."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    quota: _Quota | None = None


class _PlanSpec(Struct):
    """The spec of a PreemptionPlan, in part."""

    preemptor: _Preemptor = msgspec.field(default_factory=_Preemptor)
    cost: _CostFields | None = None


class _PlanStatus(Struct):
    """The status of a PreemptionPlan, in part."""

    phase: str | None = None


class CostObject(Struct):
    """A PreemptionPlan in a worker cluster."""

    metadata: ObjectMeta
    spec: _PlanSpec = msgspec.field(default_factory=_PlanSpec)
    status: _PlanStatus | None = None

    @property
    def key(self) -> str:
        """`namespace/name` of the Workload that would preempt."""
        return _kept(f"{self.spec.preemptor.namespace}/{self.spec.preemptor.name}")


_specs: Final = msgspec.json.Decoder(_Spec)
_statuses: Final = msgspec.json.Decoder(JobStatus)


def metadata_in(answer: bytes) -> ObjectMeta:
    """The metadata of the object that was answered. Raises ApiError if the answer is no object."""
    try:
        return msgspec.json.decode(answer, type=OnlyMetadata).metadata
    except (msgspec.DecodeError, RecursionError):
        raise ApiError(0, "InvalidAnswer", "the answer is no object") from None


def copy_of(item: CopyObject) -> Copy:
    """The small form of a Workload. Raises ValueError if its spec cannot be read, or no API server takes its name."""
    meta, status = _checked(item.metadata), item.status or _Status()
    try:
        spec = _specs.decode(item.spec)
        semantics = _digests.of(item.spec)
    except RecursionError:
        raise ValueError("spec: nested too deep") from None
    reference = spec.priority_class_ref
    return Copy(
        namespace=intern(meta.namespace),
        name=intern(meta.name),
        uid=meta.uid,
        version=meta.resource_version,
        is_deleting=meta.deletion_timestamp is not None,
        mark=_mark(meta),
        digest=semantics,
        priority=spec.priority,
        priority_class=_kept(f"{reference.kind}/{reference.name}") if reference is not None else "",
        active=spec.active is not False,
        has_gate=any(each.name == MULTIKUEUE_GATE for each in spec.preemption_gates or ()),
        gate=_position(status.preemption_gates or ()),
        gate_since=max((_microseconds(each.last_transition_time) for each in _ours(status)), default=0),
        conditions={intern(each.type): _said(each) for each in status.conditions or () if each.type in KEPT},
        fenced_by=_kept((meta.annotations or {}).get(FENCED_BY, "")),
    )


def job_of(item: JobObject) -> RemoteJob:
    """The small form of a Job. Raises ValueError if its status cannot be read, or its name is
    none."""
    meta, raw = _checked(item.metadata), bytes(item.status)
    if len(raw) > MOST_STATUS:
        raise ValueError("status: is larger than any object")
    if raw == b"null":
        raw = b"{}"
    prebuilt = (meta.annotations or {}).get(PREBUILT_WORKLOAD_ANNOTATION)
    if prebuilt is None:
        prebuilt = (meta.labels or {}).get(PREBUILT_WORKLOAD_ANNOTATION, "")
    return RemoteJob(
        namespace=intern(meta.namespace),
        name=intern(meta.name),
        uid=meta.uid,
        version=meta.resource_version,
        is_deleting=meta.deletion_timestamp is not None,
        mark=_mark(meta),
        workload=_kept(prebuilt),
        suspended=bool(item.spec.suspend),
        status=_statuses.decode(raw),
        raw_status=raw,
    )


def cost_of(item: CostObject, seen: int) -> Cost | None:
    """What the plan says that the preemption would cost; None if it says nothing, or what cannot be, or is not only
    proposed.

    `seen`: when the manager saw the plan first, in microseconds since 1970.
    """
    _checked(item.metadata)
    cost, preemptor = item.spec.cost, item.spec.preemptor
    is_proposed = item.status is not None and item.status.phase == PROPOSED
    if cost is None or not is_proposed or preemptor.namespace != item.metadata.namespace:
        return None
    highest = cost.highest_victim_priority or 0
    counts = (cost.workloads, cost.pods, cost.pod_seconds)
    if not all(0 <= each <= MOST for each in counts) or max(abs(highest), abs(cost.priority_sum)) > MOST:
        return None  # no DispatchPlan could have it, so nobody would get a turn
    return Cost(
        highest,
        cost.priority_sum,
        cost.workloads,
        cost.pods,
        cost.pod_seconds,
        _kept(preemptor.quota.cluster_queue if preemptor.quota is not None else ""),
        seen,
    )


def _checked(meta: ObjectMeta) -> ObjectMeta:
    """Names become parts of the paths of requests. With `..` or `?` in them, what is written in the name of the manager
    could reach something else behind the same server."""
    if not (is_subdomain(meta.name) and is_subdomain(meta.namespace)):
        raise ValueError("metadata: a name is none that an API server takes")
    if max(len(meta.uid), len(meta.resource_version)) > LONGEST:
        raise ValueError("metadata: the UID or the version is longer than any")
    return meta


def _kept(text: str) -> str:
    return intern(text[:MESSAGE])


class _Digests:
    """Digests that were computed lately. Most events change the status only, and the copies of a Workload in all
    clusters have the same spec."""

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}
        """By a hash of the spec's bytes, the oldest first."""

    def of(self, raw: msgspec.Raw) -> bytes:
        key = blake2b(memoryview(raw), digest_size=16).digest()
        found = self._known.get(key)
        if found is None:
            found = digest(_object(raw))
            if len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = found
        return found


_digests: Final = _Digests()


def _object(raw: msgspec.Raw) -> Mapping[str, Any]:
    value = orjson.loads(memoryview(raw))
    if not isinstance(value, dict):
        raise ValueError("spec: not an object")  # noqa: TRY004 - stores raise ValueError
    return value


def _mark(meta: ObjectMeta) -> Mark | None:
    mark = Mark.read((meta.annotations or {}).get(DISPATCHED_BY, ""))
    return Mark(*map(_kept, mark)) if mark is not None else None


def _position(gates: Iterable[_Gate]) -> GatePosition:
    for each in gates:
        if each.name == MULTIKUEUE_GATE:
            return "Open" if each.position == "Open" else "Closed"
    return "Missing"


def _ours(status: _Status) -> list[_Gate]:
    """The state of our gate, if it has one."""
    return [each for each in status.preemption_gates or () if each.name == MULTIKUEUE_GATE]


def _said(condition: Condition) -> Said:
    return Said(
        condition.status == "True",
        intern(condition.reason) if REASON.fullmatch(condition.reason) else ODD_REASON,
        _kept(condition.message),
        _microseconds(condition.last_transition_time),
    )


def _microseconds(text: str | None) -> int:
    """The time in microseconds since 1970; 0 if it cannot be read."""
    try:
        return round(parse_rfc3339(text or "") * 1_000_000)
    except ValueError:
        return 0
