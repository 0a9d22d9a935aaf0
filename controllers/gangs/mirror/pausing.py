"""Whether a plan may evict now, as far as pauses are concerned."""

from __future__ import annotations

from api.plans import PreemptionPlanSpec
from runtime.mirror.pauses import Pauses

__all__ = ["namespaces", "why_paused"]


def namespaces(spec: PreemptionPlanSpec) -> frozenset[str]:
    """Those of the victims. The namespace of a pod that a former process evicted may be unknown."""
    return frozenset(pod.namespace for victim in spec.victims for pod in victim.pods) - {""}


def why_paused(pauses: Pauses, spec: PreemptionPlanSpec) -> str:
    """Why the plan must evict nobody now; empty if it may, or has nobody to evict."""
    if not spec.victims or not pauses.any:
        return ""
    return pauses.why(spec.preemptor.namespace, namespaces(spec))
