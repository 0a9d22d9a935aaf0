"""What the life of a dispatched Workload is decided from: the manager's objects, and what is seen in each cluster.

"Here" is the manager's cluster, "there" a worker cluster. Times are microseconds since 1970, by the manager's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from api.jobs import JobStatus, TemplatedJob, end_of, nothing_runs
from api.workloads import Workload

__all__ = [
    "ClusterSeen",
    "Copy",
    "Cost",
    "GatePosition",
    "Mark",
    "Reach",
    "RemoteJob",
    "Said",
    "Seen",
    "Settings",
    "Turn",
]

Reach = Literal["Connected", "Away", "Lost"]
"""Connected: what is seen there is up to date. Away: no word from it, or no connection yet. Lost: away for as long as
`workerLostTimeoutSeconds`."""
GatePosition = Literal["Missing", "Closed", "Open"]
"""Missing: the status does not have the gate."""


class Mark(NamedTuple):
    """Whose copy it is (annotation `reprieve.dev/dispatched-by`)."""

    manager: str
    """The UID of the manager's kube-system."""
    uid: str
    """The UID of the manager's Workload."""
    attempt: str
    """See `quota.state.workloads.attempt_of`."""

    @classmethod
    def read(cls, text: str) -> Mark | None:
        """The mark in an annotation; None if it has another form."""
        manager, _, rest = text.partition("/")
        uid, _, attempt = rest.partition("/")
        return cls(manager, uid, attempt) if manager and uid and attempt else None

    def __str__(self) -> str:
        return f"{self.manager}/{self.uid}/{self.attempt}"


class Said(NamedTuple):
    """A condition of a copy."""

    status: bool
    reason: str
    message: str
    since: int
    """By the clock there: only good for comparing it with itself."""


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a Workload with our origin in a worker cluster. It is small: there may be 200,000 of them."""

    namespace: str
    name: str
    uid: str
    version: str
    """Its resourceVersion."""
    is_deleting: bool = False
    mark: Mark | None = None
    """None: it has no mark of this form. Kueue's manager makes copies without one."""
    digest: bytes = b""
    """Of its spec without gates, priority and `active`. Equal digests mean semantically equal specs."""
    priority: int | None = None
    priority_class: str = ""
    """`kind/name` of its priorityClassRef; empty without one."""
    active: bool = True
    has_gate: bool = False
    """Whether its spec has the gate of MultiKueue."""
    gate: GatePosition = "Missing"
    gate_since: int = 0
    """When that changed, by the clock of whoever wrote it. The API server there takes no earlier time; it decides
    nothing."""
    conditions: Mapping[str, Said] = msgspec.field(default_factory=dict)
    """QuotaReserved, Admitted, Evicted, Finished, BlockedOnPreemptionGates, DeactivationTarget, as far as it has
    them."""
    fenced_by: str = ""
    """The term that has written to it last (annotation `reprieve.dev/fenced-by`)."""

    def is_true(self, kind: str) -> bool:
        """Whether the condition is True."""
        said = self.conditions.get(kind)
        return said is not None and said.status

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


class RemoteJob(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a Job with our origin in a worker cluster."""

    namespace: str
    name: str
    uid: str
    version: str
    is_deleting: bool = False
    mark: Mark | None = None
    workload: str = ""
    """The name of the Workload that it uses (the prebuilt name)."""
    suspended: bool = True
    status: JobStatus = msgspec.field(default_factory=JobStatus)
    raw_status: bytes = b"{}"
    """The whole status as JSON."""

    @property
    def has_ended(self) -> bool:
        """Whether it has ended for good."""
        return end_of(self.status) is not None

    @property
    def runs(self) -> bool:
        """Whether a pod of it may be active or terminating now."""
        if self.has_ended:
            return bool(self.status.active or self.status.terminating)
        return not nothing_runs(self.suspended, self.status)


class Cost(NamedTuple):
    """What the preemption for a copy would cost, as its cluster says in a PreemptionPlan of phase Proposed."""

    highest_priority: int
    priority_sum: int
    workloads: int
    pods: int
    pod_seconds: int
    cluster_queue: str
    """The copy's ClusterQueue there."""
    seen: int
    """When the manager saw it first."""


class ClusterSeen(msgspec.Struct, frozen=True):
    """One cluster, as far as the Workload is concerned."""

    name: str
    """Of the MultiKueueCluster."""
    reach: Reach
    why: str = ""
    """Why it is not connected."""
    honours_gates: bool = True
    """Whether its quota controller honours preemption gates. If not, the copy itself is the gate."""
    is_prompt: bool = True
    """Whether it answers within a second. Nobody waits for one that does not."""
    copy: Copy | None = None
    """Of the Workload's key. It may be of another attempt or manager."""
    job: RemoteJob | None = None
    """The Job there that uses a Workload of this key, or that has the name of the Workload's Job."""
    cost: Cost | None = None
    open_gates: int = 0
    """How many gates are open there, for all Workloads."""
    last_opened: int = 0
    """When a gate was opened there last for the ClusterQueue of the copy, or such a turn was carried out; 0 if that is
    not known."""
    is_busy: bool = False
    """Whether a turn of another Workload is not carried out yet there, for the same ClusterQueue."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A stored DispatchPlan of the Workload's attempt."""

    name: str
    number: int
    """1 for the attempt's first."""
    cluster: str
    began: int
    until: int
    is_over: bool = False
    """Whether its status says what became of it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in microseconds."""

    has_gates: bool
    """The feature gate MultiKueueOrchestratedPreemption."""
    by_cost: bool
    """LeastDisruption; otherwise FirstComeFirstServed."""
    window: int
    """nonPreemptingWindowSeconds."""
    turn: int
    """singleClusterPreemptionTimeoutSeconds."""
    give_up: int | None
    """giveUpSeconds; None: off."""


@dataclass(frozen=True, slots=True)
class Seen:
    """All that one decision is made from."""

    key: str
    """`namespace/name` of the Workload."""
    workload: Workload | None
    """Here. None: it is gone."""
    manager: str
    """The UID of kube-system here."""
    check: str = ""
    """The name of the MultiKueue check that the Workload has; empty if it has none."""
    refusal: str = ""
    """Why no cluster can ever get it (its owner has no adapter, ...), in Kueue's words."""
    job: TemplatedJob | None = None
    """Its Job here, if it exists."""
    is_mirrored: bool = True
    """Whether the Job here shows the status of the Job in the chosen cluster, as far as the API server takes it."""
    digest: bytes | None = None
    """As `Copy.digest`, of the Workload here. None: not known yet."""
    attempt: str = ""
    is_configured: bool = True
    """Whether the check's MultiKueueConfig is known. If not, nothing is begun, and nothing is taken away."""
    clusters: tuple[ClusterSeen, ...] = ()
    """Those of the check's MultiKueueConfig, in its order."""
    others: tuple[ClusterSeen, ...] = ()
    """Other known clusters that have a copy or a Job of it."""
    turns: tuple[Turn, ...] = ()
    """Of this attempt, in their order."""
    former_turns: tuple[Turn, ...] = ()
    """Of former attempts: those that do not say what became of them."""
    fenced: frozenset[str] = field(default_factory=frozenset)
    """Clusters where no former leader can still write to the copy."""
    mark: Mark = field(init=False)
    """That of the present attempt."""

    def __post_init__(self) -> None:
        uid = self.workload.metadata.uid if self.workload is not None else ""
        object.__setattr__(self, "mark", Mark(self.manager, uid, self.attempt))
