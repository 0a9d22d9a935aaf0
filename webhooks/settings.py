"""Settings of the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controllers.jobs.configuration import JobsConfiguration

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What operators can set about the rules."""

    gate_openers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By preemption gate: the users that may open it. For gates that are not here, RBAC alone decides."""
    system_namespaces: tuple[str, ...] = ()
    """Namespaces besides kube-system whose PodGroups may have a `system-` PriorityClass."""
    gates_members: bool = True
    """Pods of PodGroups get the scheduling gate `reprieve.dev/gang`. False with `planning.gates: Off`."""
    jobs: JobsConfiguration | None = None
    """Which Jobs and PodGroups wait in queues. None: nothing does."""
    beside_kueue: bool = False
    """Kueue is installed and checks its own rules. Only what Kueue lacks is checked here."""
