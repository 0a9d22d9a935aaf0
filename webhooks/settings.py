"""What operators can set about the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The rules' configuration."""

    gate_openers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Preemption gate to the user names that may open it. For gates that are not in it, RBAC alone decides."""
    system_namespaces: tuple[str, ...] = ()
    """Namespaces, besides kube-system, whose PodGroups may have a `system-` PriorityClass."""
    beside_kueue: bool = False
    """Kueue itself is installed and checks what is its own: only what it lacks is checked here."""
