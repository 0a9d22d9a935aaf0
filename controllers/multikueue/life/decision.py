"""What follows for a dispatched Workload: at most one write here, one in each cluster, and what is reported.

What follows after a write is found in the objects again, so a process that dies between two writes changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from controllers.multikueue.life.memory import Memory
from runtime.exchange.dispatch_reports import Dispatched

__all__ = [
    "CloseGate",
    "CreateCopy",
    "CreateJob",
    "Deactivate",
    "Decision",
    "DeleteCopy",
    "DeleteJob",
    "EndTurn",
    "FenceCopy",
    "GiveTurn",
    "Here",
    "MirrorJob",
    "NeedsDigest",
    "OpenGate",
    "ReadJob",
    "SetPriority",
    "SuspendJob",
    "There",
    "TryJob",
    "Weighed",
]

# ---- in a worker cluster


@dataclass(frozen=True, slots=True)
class CreateCopy:
    """The cluster gets its copy of the Workload."""

    has_gate: bool


@dataclass(frozen=True, slots=True)
class DeleteCopy:
    """The copy with this UID goes."""

    uid: str
    why: str


@dataclass(frozen=True, slots=True)
class DeleteJob:
    """The Job with this UID goes, and its pods after it."""

    uid: str
    why: str


@dataclass(frozen=True, slots=True)
class ReadJob:
    """Whether pods of the Job with this UID run is asked, not believed: a watch may be lost without a sign."""

    uid: str


@dataclass(frozen=True, slots=True)
class SuspendJob:
    """The Job runs without a copy: it stops."""

    uid: str
    version: str


@dataclass(frozen=True, slots=True)
class SetPriority:
    """The priority has changed here."""

    uid: str
    version: str


@dataclass(frozen=True, slots=True)
class Deactivate:
    """The Workload is evicted here: the copy gets the condition DeactivationTarget."""

    uid: str
    version: str
    message: str


@dataclass(frozen=True, slots=True)
class TryJob:
    """A dry run of CreateJob."""


@dataclass(frozen=True, slots=True)
class CreateJob:
    """The cluster that was chosen gets its Job."""


@dataclass(frozen=True, slots=True)
class OpenGate:
    """The cluster may preempt. `until`: the end of its turn."""

    uid: str
    version: str
    until: int


@dataclass(frozen=True, slots=True)
class CloseGate:
    """The cluster may no longer preempt."""

    uid: str
    version: str
    why: str


@dataclass(frozen=True, slots=True)
class FenceCopy:
    """A late write of a former leader fails from now on."""

    uid: str
    version: str


There = (
    CreateCopy
    | DeleteCopy
    | DeleteJob
    | ReadJob
    | SuspendJob
    | SetPriority
    | Deactivate
    | TryJob
    | CreateJob
    | OpenGate
    | CloseGate
    | FenceCopy
)

# ---- here


@dataclass(frozen=True, slots=True)
class Weighed:
    """A cluster as it was compared with others."""

    name: str
    said: str
    turns: int


@dataclass(frozen=True, slots=True)
class GiveTurn:
    """A DispatchPlan is stored: from then on it is this cluster's turn."""

    number: int
    cluster: str
    reason: str
    began: int
    until: int
    clusters: tuple[Weighed, ...]


@dataclass(frozen=True, slots=True)
class EndTurn:
    """A DispatchPlan says what became of the turn."""

    name: str
    phase: Literal["Admitted", "TimedOut", "Ended"]
    reason: str


@dataclass(frozen=True, slots=True)
class MirrorJob:
    """The status of the Job here becomes that of the Job in the cluster, as far as the API server takes it."""

    cluster: str


@dataclass(frozen=True, slots=True)
class NeedsDigest:
    """The Workload here must be read, and then the decision be asked for again."""


Here = GiveTurn | EndTurn | MirrorJob | NeedsDigest


@dataclass(frozen=True, slots=True)
class Decision:
    """All that follows. `again`: when time alone changes what follows, in microseconds since 1970."""

    memory: Memory
    report: Dispatched | None = None
    here: Here | None = None
    there: Mapping[str, There] = field(default_factory=dict)
    again: int | None = None
