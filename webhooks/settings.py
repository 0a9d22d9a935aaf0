"""Settings of the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from api.integration import JOB_FRAMEWORK, POD_GROUP_FRAMEWORK
from api.meta import LabelSelector

__all__ = ["QueueSettings", "Settings"]


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The section `jobs` of the configuration, as the rules need it."""

    frameworks: frozenset[str] = frozenset({JOB_FRAMEWORK, POD_GROUP_FRAMEWORK})
    """The kinds that are managed."""
    without_queue_name: bool = False
    """Whether a Job that names no queue is managed, too."""
    namespaces: LabelSelector = field(default_factory=LabelSelector)
    """Objects that name no queue are managed only in these namespaces."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What operators can set about the rules."""

    gate_openers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By preemption gate: the users that may open it. For gates that are not here, RBAC alone decides."""
    system_namespaces: tuple[str, ...] = ()
    """Namespaces besides kube-system whose PodGroups may have a `system-` PriorityClass."""
    gates_members: bool = True
    """Pods of PodGroups get the scheduling gate `reprieve.dev/gang`. False with `planning.gates: Off`."""
    enforced: LabelSelector | None = None
    """Only pods in namespaces with these labels get that gate. None: in all namespaces."""
    gates_native: bool = False
    """So do pods of PodGroups of kube-scheduler's own kind. True if `planning.nativeGroups` is not Off either."""
    queues: QueueSettings | None = None
    """Which Jobs and PodGroups wait in queues. None: nothing does."""
    beside_kueue: bool = False
    """Kueue is installed and checks its own rules. Only what Kueue lacks is checked here."""
