"""Who creates the pods of a group, and why some do not exist. From the objects and from events about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api.core import Pod, PodSpec
from api.foreign_owners import OwningJob, ReplicaSet, SetSpec, StatefulSet
from api.integration import QUEUE_NAME_LABEL
from api.jobs import pods_at_once
from api.meta import ObjectMeta, Struct, controller_reference
from api.preempted import Reference
from api.words import counted
from nodes.groups.registry import groups_of
from nodes.state.pods.pods import ENDED

__all__ = [
    "Creator",
    "Event",
    "ReplicaSet",
    "StatefulSet",
    "creator_of_job",
    "creator_of_set",
    "why_missing",
    "why_short",
]

FAILED_CREATE: Final = "FailedCreate"
"""The reason of events of a controller that could not create a pod."""
REPLICA_FAILURE: Final = "ReplicaFailure"
OVER: Final = ("Complete", "Failed")
"""Conditions of a Job that has ended."""
READ: Final = ("Job", "ReplicaSet", "StatefulSet")
"""Kinds of controllers that are looked at."""
NAMED: Final = 5


class Event(Struct, kw_only=True):
    """core/v1 Event."""

    metadata: ObjectMeta
    involved_object: Reference
    reason: str = ""
    message: str = ""
    last_timestamp: str | None = None
    event_time: str | None = None

    @property
    def when(self) -> str:
        """When it was seen last (RFC 3339); empty if it does not say."""
        return self.last_timestamp or self.event_time or self.metadata.creation_timestamp or ""


@dataclass(frozen=True, slots=True)
class Creator:
    """A controller that creates pods, and what keeps it from creating more."""

    kind: str
    metadata: ObjectMeta
    template: ObjectMeta
    """The metadata of its pods."""
    pods: int
    """How many pods it wants to have at once."""
    stopped: str = ""
    """Why it creates none: it is suspended, or has ended; empty if it may."""
    refused: str = ""
    """What its status says of pods that it could not create."""

    @property
    def name(self) -> str:
        """Kind, namespace and name."""
        return f"{self.kind} {self.metadata.namespace}/{self.metadata.name}"


def creator_of_set(found: ReplicaSet) -> Creator:
    """A ReplicaSet or StatefulSet."""
    spec = found.spec or SetSpec()
    conditions = (found.status.conditions if found.status is not None else None) or ()
    failing = (each for each in conditions if (each.type, each.status) == (REPLICA_FAILURE, "True"))
    template = (spec.template.metadata if spec.template is not None else None) or ObjectMeta()
    return Creator(
        "StatefulSet" if isinstance(found, StatefulSet) else "ReplicaSet",
        found.metadata,
        template,
        1 if spec.replicas is None else spec.replicas,
        refused=next((each.message for each in failing), ""),
    )


def creator_of_job(job: OwningJob) -> Creator:
    """A Job. One that has ended, or is suspended, creates no pod."""
    template = (job.spec.template.metadata if job.spec.template is not None else None) or ObjectMeta()
    ends = (each for each in job.status.conditions or () if each.status == "True" and each.type in OVER)
    end = next(ends, None)
    stopped = f"has ended ({end.type})" if end is not None else "is suspended" if job.spec.suspend else ""
    if stopped and end is None and (queue := (job.metadata.labels or {}).get(QUEUE_NAME_LABEL)):
        stopped += f", and waits in LocalQueue {queue}"
    pods = pods_at_once(job.spec.parallelism, job.spec.completions)
    return Creator("Job", job.metadata, template, pods, stopped)


def why_missing(
    name: str,
    pods: Sequence[Pod],
    creators: Iterable[Creator],
    events: Sequence[Event],
    said: Mapping[str, str],
) -> list[str]:
    """Why pods of the group do not exist, a sentence for each cause. Empty if nobody says it creates them.

    `name` is the group's (`nodes.groups.keys`), `pods` are those of the group, and `creators` those of its namespace.
    `said`: what the Workload of a creator says, by the UID of the creator.
    """
    owned: dict[str, list[Pod]] = {}
    for pod in pods:
        if (owner := controller_reference(pod.metadata)) is not None:
            owned.setdefault(owner.uid, []).append(pod)
    every = list(creators)
    concerned = [each for each in every if each.metadata.uid in owned or _makes(each) == name]
    found = [
        text
        for each in sorted(concerned, key=lambda each: each.name)
        if (text := _why(each, owned.get(each.metadata.uid, []), events, said))
    ]
    found += _dangling(owned, {each.metadata.uid for each in every})
    if not concerned and not owned:
        found.append(f"No {', '.join(READ[:-1])} or {READ[-1]} that was read creates pods for it.")
    if len(found) > NAMED:
        return [*found[:NAMED], f"And {counted(len(found) - NAMED, 'more cause')}."]
    return found


def _makes(creator: Creator) -> str:
    """The name of the group that its pods name; empty if they name none."""
    meta = ObjectMeta(
        namespace=creator.metadata.namespace,
        labels=creator.template.labels,
        annotations=creator.template.annotations,
    )
    return next(iter(groups_of(Pod(metadata=meta, spec=PodSpec()))), "")


def _why(creator: Creator, pods: Sequence[Pod], events: Sequence[Event], said: Mapping[str, str]) -> str:
    """Why the group has no more pods of this creator."""
    if creator.metadata.deletion_timestamp:
        return f"{creator.name} is being deleted."
    if creator.stopped:
        waits = said.get(creator.metadata.uid, "")
        return f"{creator.name} {creator.stopped}{f': {waits}' if waits else '.'}"
    return why_short(creator, pods, events)


def why_short(creator: Creator, pods: Sequence[Pod], events: Sequence[Event]) -> str:
    """Why a creator that may create pods has no more of them. `pods`: those that it controls, also ended ones."""
    there = sum(pod.status.phase not in ENDED and not pod.metadata.deletion_timestamp for pod in pods)
    if there >= creator.pods:
        return f"{creator.name} has all the pods that it wants: {creator.pods}."
    has = f"{creator.name} has {there} of {counted(creator.pods, 'pod')}"
    if why := creator.refused or _refused(creator, events):
        return f"{has}: {why}"
    return f"{has}. Nothing that was read says why it has no more."


def _refused(creator: Creator, events: Sequence[Event]) -> str:
    """What the newest event says about a pod that it could not create."""
    about = [
        each
        for each in events
        if each.reason == FAILED_CREATE
        and (each.involved_object.kind, each.involved_object.name) == (creator.kind, creator.metadata.name)
        and each.involved_object.uid in ("", creator.metadata.uid)
    ]
    return max(about, key=lambda each: each.when).message if about else ""


def _dangling(owned: Mapping[str, Sequence[Pod]], known: Iterable[str]) -> Iterator[str]:
    """Owners that do not exist: nobody creates their pods again."""
    there = set(known)
    for uid, pods in sorted(owned.items()):
        owner = controller_reference(pods[0].metadata)
        if owner is None or uid in there:
            continue
        what = f"{owner.kind} {pods[0].metadata.namespace}/{owner.name}"
        if owner.kind in READ:
            yield f"{what}, which created {pods[0].metadata.name}, does not exist. Its pods are not created again."
        else:
            yield f"{what} creates pods of it. Objects of that kind are not read here."
