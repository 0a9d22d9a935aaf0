"""What a process says of itself on its Lease, for people and for `reprieve doctor`."""

from __future__ import annotations

from typing import Final

__all__ = ["GATES", "QUOTA_MODE", "SCHEDULERS", "VERSION"]

SCHEDULERS: Final = "reprieve.dev/schedulers"
"""Annotation: when each scheduler called last. A JSON object, by schedulerName, with times as RFC 3339."""
VERSION: Final = "reprieve.dev/version"
"""Annotation: the version of the process that leads."""
GATES: Final = "reprieve.dev/feature-gates"
"""Annotation: its feature gates, as kube-scheduler's option writes them (A=true,B=false)."""
QUOTA_MODE: Final = "reprieve.dev/quota-mode"
"""Annotation: its `quota.mode`."""
