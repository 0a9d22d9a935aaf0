"""Groups by owner: the pods of one training job, JobSet or replica of a LeaderWorkerSet belong together.

The pod's controller reference decides. Owners that are not the pod's own controller are known by labels. Such a label
counts only if the controller has the name that the owner's controller gives it, and not if it is known that the
controller references lead elsewhere: see `nodes.state.groups.chains`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from api.core import Pod
from api.foreign_owners import OwningJob, OwningStatefulSet
from api.meta import OwnerReference, controller_reference
from api.names import is_label_value, is_subdomain
from api.owner_annotations import GANG_ANNOTATION, ByOwner
from nodes.groups.keys import SEPARATOR, foreign_name, source_of
from nodes.groups.kinds.kind import Grouping
from nodes.groups.kinds.table import KINDS
from nodes.groups.kinds.training import TRAINING_JOBS

__all__ = [
    "POD",
    "Between",
    "ByOwner",
    "OwnedPod",
    "OwnerName",
    "control_of",
    "is_its_owners",
    "job_set_named",
    "owned_pod",
    "owner_name",
]

JOB_SET: Final = "JobSet.jobset.x-k8s.io"
JOB_SET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
JOB_SET_UID: Final = "jobset.sigs.k8s.io/jobset-uid"
"""Only newer versions of JobSet set it."""
REPLICATED_JOB: Final = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"

LEADER_WORKER_SET: Final = "LeaderWorkerSet.leaderworkerset.x-k8s.io"
SET_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
REPLICA: Final = "leaderworkerset.sigs.k8s.io/group-index"

POD: Final = "Pod"
"""The source of the leader of a replica, which controls the StatefulSet of its workers."""
Between = OwningJob | OwningStatefulSet
"""What may be between a pod and the owner that its labels tell."""

NEVER_TOGETHER: Final = frozenset({"DaemonSet", "Node"})
"""Controllers whose pods belong to their nodes."""


BY_CONTROLLER: Final = frozenset((each.group, each.kind) for each in TRAINING_JOBS)
"""Kinds whose pods belong together, and that control them directly. Labels tell the other owners."""
ASKED: Final = frozenset((each.group, each.kind) for each in KINDS if each.grouping is Grouping.ASKED)
"""Controllers whose pods belong together only if an annotation says so. Their objects are read."""


class OwnedPod(NamedTuple):
    """What a pod tells of the group that it has by its owner, if that counts."""

    name: str
    """The group's: see `nodes.groups.keys`."""
    by_default: bool
    """Whether the kind of the owner counts without an annotation."""
    said: bool
    """Whether the pod itself says that it belongs to its owner's group."""
    by: str
    """The UID of the controller between the pod and its owner; empty if the owner is the controller."""

    def counts(self, by_owner: ByOwner, owner_said: bool | None) -> bool:
        """Whether the pod belongs to the group. `by_owner`: the setting. `owner_said`: the annotation of the owner."""
        said = True if self.said else owner_said
        return said if said is not None else self.by_default and by_owner != "Off"


class OwnerName(NamedTuple):
    """An owner, as the name of its group tells it."""

    source: str
    name: str
    uid: str
    """Empty if the pods do not tell it."""


def owned_pod(pod: Pod) -> OwnedPod | None:
    """The group of the pod by its owner; None if it can have none, or says so."""
    owner = controller_reference(pod.metadata)
    if owner is None or owner.kind in NEVER_TOGETHER:
        return None
    annotations = pod.metadata.annotations
    said = annotations.get(GANG_ANNOTATION) if annotations is not None else None
    if said == "false":
        return None
    name, by_default = _by_label(owner, pod.metadata.labels or {}), True
    by_label = name is not None
    if name is None:
        name, by_default = _by_controller(owner, is_gang=said == "true")
    by = owner.uid if by_label else ""
    return OwnedPod(name, by_default, said == "true", by) if name is not None else None


def control_of(item: Between) -> OwnerName | None:
    """The owner that controls a Job or StatefulSet, or the pod that does; None if none of those that may do so does."""
    owner = controller_reference(item.metadata)
    if owner is None:
        return None
    group, _, version = owner.api_version.rpartition("/")
    source = f"{owner.kind}.{group}" if group else owner.kind
    may_be = (JOB_SET,) if isinstance(item, OwningJob) else (LEADER_WORKER_SET, POD)
    if source not in may_be or not version or not _is_written_by_controllers(owner, group):
        return None
    return OwnerName(source, owner.name, owner.uid)


def job_set_named(job: OwningJob) -> str:
    """The name of the JobSet that the labels of the Job's pods tell; empty if they tell none."""
    template = job.spec.template.metadata if job.spec.template is not None else None
    return (template.labels or {}).get(JOB_SET_NAME, "") if template is not None else ""


def owner_name(name: str) -> OwnerName:
    """The owner of the group of this name. A replica of a LeaderWorkerSet has the name of its set, and an index."""
    source, bare, *uid = name.split(SEPARATOR)
    if source == LEADER_WORKER_SET:
        bare = bare.rpartition("-")[0]
    return OwnerName(source, bare, "".join(uid))


def is_its_owners(name: str) -> bool:
    """Whether a group of this name is the only one of its owner, and so has its name and UID."""
    return source_of(name) != LEADER_WORKER_SET


def _by_controller(owner: OwnerReference, *, is_gang: bool) -> tuple[str | None, bool]:
    """The name of the group, and whether it counts without an annotation."""
    group, _, version = owner.api_version.rpartition("/")
    known = (group, owner.kind) in BY_CONTROLLER
    may_be = known or is_gang or (group, owner.kind) in ASKED
    if not version or not may_be or not _is_written_by_controllers(owner, group):
        return None, known
    return foreign_name(f"{owner.kind}.{group}" if group else owner.kind, owner.name, owner.uid), known


def _is_written_by_controllers(owner: OwnerReference, group: str) -> bool:
    """Whether names and UID look like those of an object. The API server takes any text of any length for them."""
    return (
        is_subdomain(owner.name)
        and (not group or is_subdomain(group))
        and is_label_value(owner.kind)
        and is_label_value(owner.uid)
        and bool(owner.uid)
    )


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
    if not name or not index or not index.isdecimal() or stateful_set.name not in (name, f"{name}-{index}"):
        return None
    return foreign_name(LEADER_WORKER_SET, f"{name}-{index}")
