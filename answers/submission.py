"""Objects that are to be submitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from api.foreign_owners import OwnerObject
from api.groups import PodGroup
from api.kueue import WorkloadPriorityClass
from api.storage import PersistentVolumeClaim
from nodes.groups.kinds.kind import Held, Kind
from nodes.groups.made_pods import MadePods, Written
from nodes.groups.train_jobs import RuntimeName, TrainingRuntime

__all__ = ["Known", "Submission", "Submitted"]


@dataclass(frozen=True, slots=True)
class Submitted:
    """An object that makes pods."""

    kind: str
    row: Kind | None
    """What is known of its kind; None if its pods are not known."""
    written: Written
    sets: Sequence[MadePods]
    owner: OwnerObject | None
    """The object as the owner of a group; None if it is of another kind. That of a TrainJob is its JobSet."""
    held: Held | None = None
    """Why it makes no pods, as it is written; None if it makes them."""
    labels: Mapping[str, str] | None = None
    """Those that name the queue."""
    priority_class: str = ""
    """The PriorityClass that it names outside of its templates."""
    problem: tuple[str, str] | None = None
    """Why its pods are not known: an outcome, and a sentence."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What is submitted together, in the order in which it is looked at."""

    groups: Sequence[PodGroup]
    """PodGroups of each kind, in their internal form."""
    objects: Sequence[Submitted]
    claims: Sequence[PersistentVolumeClaim] = ()
    """Those that are submitted, and those that controllers make for their pods."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a cluster has that only submissions need."""

    workload_classes: Mapping[str, WorkloadPriorityClass] = field(default_factory=dict)
    """By name."""
    runtimes: Mapping[RuntimeName, TrainingRuntime] = field(default_factory=dict)
    """What TrainJobs are expanded by."""
    unread_runtimes: Mapping[str, str] = field(default_factory=dict)
    """Rights that are missing, by the kind of the runtime. They matter to TrainJobs only."""
