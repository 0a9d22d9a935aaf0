"""Facts about other objects. Rules ask for them here; the answer can be that a fact is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from api.checks import AdmissionCheck
from api.core import PriorityClass
from api.foreign_groups import NativePodGroup
from api.groups import PodGroup
from api.kueue import ClusterQueue, LocalQueue
from api.priority import SYSTEM_CLASSES, global_default
from quota.state.activity import manager_checks

__all__ = ["NO_FACTS", "UNKNOWN", "Answer", "Facts", "KnownFacts", "NotSynced", "Unknown"]

T = TypeVar("T")


class Unknown(Enum):
    """The answer while the mirror is not synced, or if no file has the object."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
Answer: TypeAlias = "T | Literal[Unknown.UNKNOWN] | None"
"""None means that there is no such object."""


class NotSynced(Exception):
    """Defaulting needs an object that is not mirrored yet. The same request may succeed a little later."""


class Facts(Protocol):
    """Other objects, from a mirror or from files. No method waits."""

    def priority_class(self, name: str) -> Answer[PriorityClass]:
        """The PriorityClass of that name."""

    def default_priority_class(self) -> Answer[PriorityClass]:
        """The global default (`api.priority.global_default`)."""

    def pod_group(self, namespace: str, name: str) -> Answer[PodGroup]:
        """The PodGroup of that name."""

    def native_group(self, namespace: str, name: str) -> Answer[NativePodGroup]:
        """The PodGroup of kube-scheduler's own kind (`scheduling.k8s.io`) of that name."""

    def local_queue(self, namespace: str, name: str) -> Answer[LocalQueue]:
        """The LocalQueue of that name."""

    def dispatches(self, namespace: str, queue: str) -> bool | Literal[Unknown.UNKNOWN]:
        """Whether a manager sends the Workloads of that LocalQueue to other clusters: its ClusterQueue has a check of
        MultiKueue."""

    def namespace_labels(self, name: str) -> Answer[Mapping[str, str]]:
        """The labels of the namespace."""


class KnownFacts:
    """Facts from a complete set of objects. The two classes that API servers create at start are always known."""

    def __init__(
        self,
        classes: Iterable[PriorityClass] = (),
        groups: Iterable[PodGroup] = (),
        queues: Iterable[LocalQueue] = (),
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
        cluster_queues: Iterable[ClusterQueue] = (),
        checks: Iterable[AdmissionCheck] = (),
        *,
        natives: Iterable[NativePodGroup] = (),
    ) -> None:
        """`namespaces`: labels by name. `natives`: PodGroups of kube-scheduler's own kind."""
        self._natives = {(each.metadata.namespace, each.metadata.name): each for each in natives}
        self._classes = {**SYSTEM_CLASSES, **{each.metadata.name: each for each in classes}}
        self._groups = {(each.metadata.namespace, each.metadata.name): each for each in groups}
        self._queues = {(each.metadata.namespace, each.metadata.name): each for each in queues}
        self._namespaces = dict(namespaces or {})
        self._cluster_queues = {each.metadata.name: each for each in cluster_queues}
        self._checks = {each.metadata.name: each for each in checks}

    def priority_class(self, name: str) -> PriorityClass | None:
        """See `Facts`."""
        return self._classes.get(name)

    def default_priority_class(self) -> PriorityClass | None:
        """See `Facts`."""
        return global_default(self._classes.values())

    def pod_group(self, namespace: str, name: str) -> PodGroup | None:
        """See `Facts`."""
        return self._groups.get((namespace, name))

    def native_group(self, namespace: str, name: str) -> NativePodGroup | None:
        """See `Facts`."""
        return self._natives.get((namespace, name))

    def local_queue(self, namespace: str, name: str) -> LocalQueue | None:
        """See `Facts`."""
        return self._queues.get((namespace, name))

    def dispatches(self, namespace: str, queue: str) -> bool:
        """See `Facts`."""
        local = self._queues.get((namespace, queue))
        known = self._cluster_queues.get(local.spec.cluster_queue) if local is not None else None
        return known is not None and bool(manager_checks(known.spec, self._checks))

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """See `Facts`."""
        return self._namespaces.get(name)


class _NoFacts:
    def priority_class(self, name: str) -> Answer[PriorityClass]:
        """Only the classes that API servers create at start are known."""
        return SYSTEM_CLASSES.get(name, UNKNOWN)

    def default_priority_class(self) -> Answer[PriorityClass]:
        """Never known."""
        return UNKNOWN

    def pod_group(self, namespace: str, name: str) -> Answer[PodGroup]:
        """Never known."""
        return UNKNOWN

    def native_group(self, namespace: str, name: str) -> Answer[NativePodGroup]:
        """Never known."""
        return UNKNOWN

    def local_queue(self, namespace: str, name: str) -> Answer[LocalQueue]:
        """Never known."""
        return UNKNOWN

    def dispatches(self, namespace: str, queue: str) -> Literal[Unknown.UNKNOWN]:
        """Never known."""
        return UNKNOWN

    def namespace_labels(self, name: str) -> Answer[Mapping[str, str]]:
        """Never known."""
        return UNKNOWN


NO_FACTS: Final[Facts] = _NoFacts()
"""No facts, for the time before anything is known."""
