"""Groups by owner: the pods of one training job, JobSet or replica of a LeaderWorkerSet belong together.

The pod's controller reference decides. Owners that are not the pod's own controller are known by labels. Such a label
counts only if the controller has the name that the owner's controller gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from api.core import Pod
from api.meta import OwnerReference, controller_reference
from nodes.groups.keys import foreign_name

__all__ = ["GANG_ANNOTATION", "ByOwner", "name_of"]

ByOwner = Literal["Victims", "Off"]
"""Victims: the pods of an owner of a known kind are evicted together, or not at all. Off: only those that say it."""

GANG_ANNOTATION: Final = "reprieve.dev/gang"
"""On a pod, so in the pod template of its owner. "true": the pods of one owner are one group, whatever its kind is.
"false": they are none."""

TRAINING_JOBS: Final = frozenset(
    {"JAXJob", "MPIJob", "MXJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob"}
)
"""Kinds of kubeflow.org that control their pods directly."""
KUBEFLOW: Final = "kubeflow.org"

JOB_SET: Final = "JobSet.jobset.x-k8s.io"
JOB_SET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
JOB_SET_UID: Final = "jobset.sigs.k8s.io/jobset-uid"
"""Only newer versions of JobSet set it."""
REPLICATED_JOB: Final = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"

LEADER_WORKER_SET: Final = "LeaderWorkerSet.leaderworkerset.x-k8s.io"
SET_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
REPLICA: Final = "leaderworkerset.sigs.k8s.io/group-index"

NEVER_TOGETHER: Final = frozenset({"DaemonSet", "Node"})
"""Controllers whose pods belong to their nodes."""


def name_of(pod: Pod, by_owner: ByOwner) -> str | None:
    """The group of the pod by its owner. `by_owner`: what counts where the pod says nothing."""
    owner = controller_reference(pod.metadata)
    said = (pod.metadata.annotations or {}).get(GANG_ANNOTATION)
    if owner is None or said == "false" or owner.kind in NEVER_TOGETHER:
        return None
    if by_owner == "Off" and said != "true":
        return None
    labels = pod.metadata.labels or {}
    return _by_label(owner, labels) or _by_controller(owner, is_gang=said == "true")


def _by_controller(owner: OwnerReference, *, is_gang: bool) -> str | None:
    group, _, version = owner.api_version.rpartition("/")
    known = group == KUBEFLOW and owner.kind in TRAINING_JOBS
    if not owner.uid or not version or not (known or is_gang):
        return None
    return foreign_name(f"{owner.kind}.{group}" if group else owner.kind, owner.name, owner.uid)


def _by_label(owner: OwnerReference, labels: Mapping[str, str]) -> str | None:
    if owner.kind == "Job" and owner.api_version.startswith("batch/"):
        return _job_set(owner, labels)
    if owner.kind == "StatefulSet" and owner.api_version.startswith("apps/"):
        return _replica(owner, labels)
    return None


def _job_set(job: OwnerReference, labels: Mapping[str, str]) -> str | None:
    """The JobSet of the Job: the Job's name is made of three of the labels."""
    name = labels.get(JOB_SET_NAME)
    expected = f"{name}-{labels.get(REPLICATED_JOB)}-{labels.get(JOB_INDEX)}"
    uid = labels.get(JOB_SET_UID, "")
    return foreign_name(JOB_SET, name, uid) if name and job.name == expected else None


def _replica(stateful_set: OwnerReference, labels: Mapping[str, str]) -> str | None:
    """One replica of a LeaderWorkerSet: leaders are in the set of its name, workers in one with the leader's name."""
    name, index = labels.get(SET_NAME), labels.get(REPLICA)
    if not name or not index or stateful_set.name not in (name, f"{name}-{index}"):
        return None
    return foreign_name(LEADER_WORKER_SET, f"{name}-{index}")
