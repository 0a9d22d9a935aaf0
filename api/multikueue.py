"""Names by which a manager of several clusters and its worker clusters know each other. Most are Kueue's
(pkg/controller/constants, pkg/controller/admissionchecks/multikueue)."""

from __future__ import annotations

from typing import Final

from api.integration import PREBUILT_WORKLOAD_LABEL
from api.meta import ObjectMeta

__all__ = [
    "CONTROLLER_NAME",
    "DISPATCHED_BY",
    "FENCED_BY",
    "EVICTED_ON_MANAGER",
    "GATES_CONDITION",
    "MANAGER_NAMESPACE",
    "MULTIKUEUE_GATE",
    "ORIGIN_IN_USE",
    "SAME_CLUSTER",
    "ORIGIN_LABEL",
    "PREBUILT_WORKLOAD_ANNOTATION",
    "WORKER_POD_LABEL",
    "is_copy",
    "prebuilt_workload",
]

CONTROLLER_NAME: Final = "kueue.x-k8s.io/multikueue"
"""`spec.controllerName` of an AdmissionCheck that a manager makes, `spec.managedBy` of a Job that it sends to a
cluster, and the field manager of Kueue's writes of the check's state."""
MULTIKUEUE_GATE: Final = "kueue.x-k8s.io/multikueue"
"""The preemption gate of copies (KEP-8303). Only the manager opens it."""
ORIGIN_LABEL: Final = "kueue.x-k8s.io/multikueue-origin"
"""On copies of Workloads and Jobs: the manager's `origin`."""
DISPATCHED_BY: Final = "reprieve.dev/dispatched-by"
"""Annotation of copies of Workloads and Jobs: `CLUSTER/UID/ATTEMPT`, with the UID of the manager's kube-system, the UID
of the manager's Workload, and its attempt (`quota.state.workloads.attempt_of`)."""
FENCED_BY: Final = "reprieve.dev/fenced-by"
"""Annotation of copies of Workloads: the term of the manager that has written to it last."""
PREBUILT_WORKLOAD_ANNOTATION: Final = "kueue.x-k8s.io/prebuilt-workload-name"
"""On a Job: the Workload that it uses. Kueue writes it since 0.18; the label of the same name stays valid."""
WORKER_POD_LABEL: Final = "kueue.x-k8s.io/multikueue-worker-workload-pod"
"""On pods of copies in a worker cluster: `true`."""
EVICTED_ON_MANAGER: Final = "EvictedOnManagerCluster"
"""Reason of DeactivationTarget on a copy whose Workload the manager has evicted."""
GATES_CONDITION: Final = "reprieve.dev/PreemptionGates"
"""Condition of a MultiKueueCluster: whether the quota controller there honours preemption gates."""
ORIGIN_IN_USE: Final = "OriginInUse"
"""Reason of Active=False of a MultiKueueCluster: another manager has taken the same origin there."""
SAME_CLUSTER: Final = "SameCluster"
"""Another reason of it: another MultiKueueCluster leads to the same cluster."""
MANAGER_NAMESPACE: Final = "reprieve-multikueue"
"""Here: the kubeconfig Secrets. In a worker cluster: the Lease of the origin, and the probe of gates."""


def is_copy(meta: ObjectMeta) -> bool:
    """Whether a manager has made the object in this cluster, and decides what it asks for."""
    return ORIGIN_LABEL in (meta.labels or {})


def prebuilt_workload(meta: ObjectMeta) -> str:
    """The Workload that a Job uses in place of its own; empty if it names none. The annotation is read first: a label
    has room for 63 characters only."""
    named = (meta.annotations or {}).get(PREBUILT_WORKLOAD_ANNOTATION)
    return named or (meta.labels or {}).get(PREBUILT_WORKLOAD_LABEL, "")
