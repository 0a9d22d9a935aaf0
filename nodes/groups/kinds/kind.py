"""What a row of the table of kinds says: which pods an object of a kind makes, when, and how they get quota."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

from api.foreign_owners import Template
from api.meta import ObjectMeta, OwnerReference
from nodes.groups.kinds.alone import Alone, OnMarkedNodes

__all__ = [
    "MOST",
    "SUSPENDED",
    "Awaited",
    "Grouping",
    "Held",
    "Kind",
    "Part",
    "Queueing",
    "count_or",
    "reference",
    "revision_of",
    "suspended",
]

MOST: Final = 100_000
"""Parts of an object, or pods of one, that are looked at one by one. An object with more pods is refused anyway."""


class Queueing(Enum):
    """What becomes of an object with the label kueue.x-k8s.io/queue-name. Source: pkg/controller/jobs of Kueue."""

    WHOLE = "one Workload, with a pod set for each template"
    COPIES = "one Workload for each copy"
    PODS = "one Workload for each pod"
    NONE = "nothing: only labels of its pod templates count"


class Grouping(Enum):
    """Whether the pods of one owner are a group, if no annotation says so."""

    YES = "by default"
    ASKED = "if an annotation of the owner or the pods says so"
    NO = "if an annotation of the pods says so"


@dataclass(frozen=True, slots=True)
class Awaited:
    """What pods wait for that are not created at once."""

    words: str
    """A clause, such as: the leader is ready."""
    stage: int = 0
    """How many times pods have ended by then, one after the other, and left their room. 0: no pod has to end."""

    @property
    def gone(self) -> bool:
        """Whether pods that are awaited have ended by then."""
        return self.stage > 0


@dataclass(frozen=True, slots=True)
class Part:
    """Pods that an object makes of one template."""

    pod_set: str
    count: int
    """How many there are at once."""
    path: str
    """Where the template is in the object; empty if the object is a pod itself."""
    template: Template | None
    """What of the template says to which group the pods belong."""
    owner: OwnerReference | None
    """Their controller."""
    prefix: str
    """What their names begin with."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Those that the controller adds."""
    together: int | None = None
    """How many of them a gang of the owner's pods needs; None: all."""
    apart: bool = False
    """Whether they belong to another controller, and so not to the owner's group."""
    after: Awaited | None = None
    """None if they are created at once."""
    claims: str = ""
    """Where in the object the templates of claims are from which each pod gets its own; empty if there are none."""
    default: Mapping[str, Any] | None = None
    """The template, as JSON has it, if the object has none at the path."""
    sidecars: Sequence[Mapping[str, Any]] = ()
    """Containers that the controller adds, and that Workloads count."""
    injected: Mapping[str, Any] = field(default_factory=dict)
    """Lists of containers, by their field, that the controller adds, and that Workloads do not count."""
    alone: Sequence[Alone | OnMarkedNodes] = ()
    """Why they have a domain of the cluster for themselves."""


class Held(NamedTuple):
    """Why an object as it is written makes no pods."""

    words: str
    """A clause, such as: it is suspended."""
    resumed: bool = True
    """Whether it makes them once it gets its quota, if it is in a queue."""


SUSPENDED: Final = Held("it is suspended")


def suspended(item: Any) -> Held | None:
    """Of an object that has the field `spec.suspend`."""
    return SUSPENDED if item.spec.suspend else None


def _never(_: Any) -> None:
    return None


def _no_class(_: Any) -> str:
    return ""


def _own_labels(item: Any) -> Mapping[str, str] | None:
    labels: Mapping[str, str] | None = item.metadata.labels
    return labels


def _nothing_said(_: Any) -> int | None:
    return None


def _once(_: Any) -> int:
    return 1


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object that makes pods."""

    kind: str
    api_version: str
    type: type[Any]
    """The struct: what is read of such an object."""
    parts: Callable[[Any, int], Iterable[Part]]
    """From the object and the number of the copy to the pods of this copy."""
    queueing: Queueing
    copies: Callable[[Any], int] = _once
    """How many equal sets of pods it makes."""
    held: Callable[[Any], Held | None] = _never
    """Why the object as it is written makes no pods; None if it makes them."""
    labels: Callable[[Any], Mapping[str, str] | None] = _own_labels
    """The labels that name the queue, and what else is asked of it."""
    least: Callable[[Any], int | None] = _nothing_said
    """How many pods it says that a gang needs; None if it says nothing."""
    priority_class: Callable[[Any], str] = _no_class
    """The PriorityClass that it names outside of its templates; empty if it names none."""
    remark: str = ""
    """What should be known of the answer, as a sentence."""
    grouping: Grouping = Grouping.NO
    plural: str = ""
    """What paths call it. Empty if nobody watches it."""
    by_runtime: bool = False
    """Whether its pods are those of a JobSet that a runtime makes of it."""

    @property
    def group(self) -> str:
        """The API group."""
        return self.api_version.rpartition("/")[0]

    @property
    def source(self) -> str:
        """The kind and its API group, as the names of groups begin."""
        return f"{self.kind}.{self.group}"

    @property
    def title(self) -> str:
        """For messages."""
        return f"{self.kind} of {self.api_version}"


def revision_of(meta: ObjectMeta) -> str:
    """What stands for the hash of a template in labels of its pods. No pod that runs already has the same one."""
    return f"new-{meta.name}"[:63].rstrip("-.")


def count_or(said: int | None, default: int) -> int:
    """A number, with its default."""
    return default if said is None else said


def reference(api_version: str, kind: str, name: str, meta: ObjectMeta, between: str = "") -> OwnerReference:
    """A controller of pods. `between`: its name inside the object, if it is not the object itself."""
    return OwnerReference(
        api_version, kind, name, f"{meta.uid}/{between}" if between else meta.uid, controller=True
    )
