"""What `reprieve what-if` reads: a cluster, and what is to be submitted to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID, uuid5

import msgspec

from api.foreign_groups import COSCHEDULING, NATIVE, VOLCANO
from api.foreign_owners import OwnerObject
from api.groups import PodGroup
from api.kueue import API_VERSION as QUOTA_VERSION
from api.kueue import WorkloadPriorityClass
from api.owner_annotations import ByOwner
from api.validation import FieldError, convert
from cli.common.checks import check_pod
from cli.common.documents import Kind, Reader, located
from cli.common.objects import Objects
from cli.common.planes import POD_GROUP, Planes
from nodes.groups.made_pods import KINDS, VERSIONS, MadePods, Written, made_pods
from nodes.groups.owner_objects import OWNERS
from nodes.groups.registry import ForeignGroup

__all__ = ["Cluster", "Submission", "Submitted"]

GROUPS_OF_OTHERS = ((NATIVE, "PodGroup"), (COSCHEDULING, "PodGroup"), (VOLCANO, "PodGroup"))
UIDS = UUID("abe7076f-9e27-4a98-89cc-e905f81f36fb")
"""Objects that are submitted have UIDs that come from their names, so that answers are the same each time."""
OWNER_KINDS = {(each.api_version, each.kind): each for each in OWNERS.values()}
CLASS = (QUOTA_VERSION, "WorkloadPriorityClass")


class Cluster(Planes):
    """The cluster, with the classes that Jobs in queues may name."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **Planes.kinds,
        CLASS: Kind(WorkloadPriorityClass, False),
    }

    def __init__(self, now: int, by_owner: ByOwner | None = None) -> None:
        super().__init__(now, by_owner)
        self.workload_classes: dict[str, WorkloadPriorityClass] = {}

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        if isinstance(thing, WorkloadPriorityClass):
            self.workload_classes[thing.metadata.name] = thing
        else:
            super().keep(thing, place)


class Submitted:
    """An object that is to be submitted."""

    def __init__(
        self, kind: str, written: Written, sets: list[MadePods], place: str, owner: OwnerObject | None
    ) -> None:
        self.kind, self.written, self.sets, self.place = kind, written, sets, place
        self.owner = owner
        """The object as the owner of a group; None if it is of another kind."""

    @property
    def labels(self) -> Mapping[str, str] | None:
        """Its own."""
        return self.written.metadata.labels

    @property
    def key(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.written.metadata.namespace}/{self.written.metadata.name}"


class Submission(Reader):
    """Objects that make pods, and PodGroups. Others do not matter."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **dict.fromkeys(VERSIONS, Kind(Written, True)),
        **{key: Objects.kinds[key] for key in (POD_GROUP, *GROUPS_OF_OTHERS)},
    }
    matter: ClassVar[str] = "what-if (changes of other objects: --overlay)"

    def __init__(self, namespace: str) -> None:
        """`namespace`: of objects that name none."""
        super().__init__()
        self.namespace = namespace
        self.groups: list[tuple[PodGroup | ForeignGroup, str]] = []
        self.objects: list[Submitted] = []

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`. Checks what an API server would check of the pods."""
        if isinstance(thing, PodGroup | ForeignGroup):
            self.groups.append((thing, place))
            return
        kind = thing.kind
        with located(place):
            if kind not in KINDS:
                raise FieldError("kind", "is missing")
            named = f"{kind}/{thing.metadata.namespace}/{thing.metadata.name}"
            thing.metadata.uid = str(uuid5(UIDS, named))
            sets = made_pods(kind, thing)
            for each in sets:
                try:
                    check_pod(each.pod)
                except FieldError as error:
                    raise FieldError(f"pods of pod set {each.pod_set}: {error.path}", error.problem) from None
            owner = OWNER_KINDS.get((thing.api_version or KINDS[kind], kind))
            read = convert(msgspec.to_builtins(thing), owner.type) if owner is not None else None
        self.objects.append(Submitted(kind, thing, sets, place, read))
