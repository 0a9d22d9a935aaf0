"""What a process says of itself on its Lease, for people and for commands."""

from __future__ import annotations

from typing import Final

from api.owner_annotations import BY_OWNER_ANNOTATION

__all__ = [
    "BY_OWNER",
    "ENFORCED",
    "GATES",
    "HOLDS",
    "LIMITS_REACHED",
    "MAX_BACKOFF",
    "NAMESPACE",
    "NATIVE_GROUPS",
    "PAUSES",
    "PLANNING_MODE",
    "PROCESS",
    "QUOTA_MODE",
    "RIGHTS_MISSING",
    "SCHEDULERS",
    "VERSION",
]

NAMESPACE: Final = "reprieve-system"
PROCESS: Final = "reprieve"
"""The name of the Deployment, its Lease, its service account and its role."""

SCHEDULERS: Final = "reprieve.dev/schedulers"
"""Annotation: when each scheduler called last. A JSON object, by schedulerName, with times as RFC 3339."""
VERSION: Final = "reprieve.dev/version"
"""Annotation: the version of the process that leads."""
GATES: Final = "reprieve.dev/feature-gates"
"""Annotation: its feature gates, as kube-scheduler's option writes them (A=true,B=false)."""
PLANNING_MODE: Final = "reprieve.dev/planning-mode"
"""Annotation: its `planning.mode`, but Observe if it lacks the rights to enforce."""
RIGHTS_MISSING: Final = "reprieve.dev/rights-missing"
"""Annotation: the rights that its term lacks to enforce, with commas between. With these it observes. Empty if none."""
ENFORCED: Final = "reprieve.dev/enforced-namespaces"
"""Annotation: its `planning.enforcedNamespaceSelector`, as JSON. Empty if all namespaces have the same mode."""
QUOTA_MODE: Final = "reprieve.dev/quota-mode"
"""Annotation: its `quota.mode`."""
NATIVE_GROUPS: Final = "reprieve.dev/native-groups"
"""Annotation: its `planning.nativeGroups`."""
PAUSES: Final = "reprieve.dev/pauses"
"""Annotation: the pauses that hold. A JSON list, as `api.pauses.pauses_text` writes it."""
HOLDS: Final = "reprieve.dev/holds"
"""Annotation: what a former Enforce has left and nobody has withdrawn yet. A JSON object (`api.holds.Holds`); empty if
nothing is held."""
LIMITS_REACHED: Final = "reprieve.dev/limits-reached"
"""Annotation: the limits on evictions that hold preemptors back. A JSON list, as
`api.reached_limits.limits_text` writes it."""
MAX_BACKOFF: Final = "reprieve.dev/pod-max-backoff-seconds"
"""Annotation: podMaxBackoffSeconds of the scheduler, by its `planning.schedulerConfiguration`."""
BY_OWNER: Final = BY_OWNER_ANNOTATION
"""Annotation: its `groups.byOwner`. On an owner or a namespace, the same annotation comes before it."""
