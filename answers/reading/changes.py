"""Reads a cluster as it is, and the same cluster with changed objects in it. It is read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from answers.changes import Changes
from answers.picture import JOB, Picture
from answers.reading.budgets import as_changed
from answers.reading.documents import Kind, Reader
from answers.reading.node_objects import PLAN
from answers.reading.planes import POD, QUOTA_KINDS, Planes, unusable_change
from answers.reading.published import LEASE, LEASE_KIND, by_owner_said
from answers.reading.quota_objects import QuotaObjects
from api.core import Pod, PriorityClass
from api.groups import PodGroup
from api.kueue import API_VERSION as QUOTA_VERSION
from api.kueue import WorkloadPriorityClass
from api.owner_annotations import ByOwner
from api.workloads import Workload
from schema.defaults.filling import unset

__all__ = ["Changed", "NowAndThen"]

Key = tuple[type[Any], str, str]
"""Struct, namespace and name."""

WORKLOAD_CLASS: Final = (QUOTA_VERSION, "WorkloadPriorityClass")
CLASS: Final = ("scheduling.k8s.io/v1", "PriorityClass")
BOTH: Final = (CLASS, ("v1", "Namespace"))
"""Kinds that both planes look at."""
KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    **Planes.kinds,
    WORKLOAD_CLASS: Kind(WorkloadPriorityClass, False),
}
TITLES: Final = {kind.struct: kind.title or key[1] for key, kind in KINDS.items()}


class Changed(Reader):
    """The changed objects. Pods and Jobs are for `reprieve what-if`."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **{
            key: QuotaObjects.kinds.get(key, kind)
            for key, kind in KINDS.items()
            if key not in (POD, JOB, PLAN)
        },
        LEASE: LEASE_KIND._replace(check=by_owner_said),
    }
    matter: ClassVar[str] = "diff (pods and Jobs are for what-if)"

    def __init__(self, namespace: str) -> None:
        """`namespace`: of objects that name none."""
        super().__init__()
        self.namespace = namespace
        self.things: dict[Key, Any] = {}
        self.places: dict[Key, str] = {}

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        self.things[_key(thing)] = thing
        self.places[_key(thing)] = place

    @property
    def nodes(self) -> bool:
        """Whether the nodes plane looks at any of them."""
        return self._any(key for key in Planes.kinds if key in BOTH or key not in QUOTA_KINDS)

    @property
    def quota(self) -> bool:
        """Whether the quota plane looks at any of them."""
        return self._any([*QUOTA_KINDS, *BOTH, WORKLOAD_CLASS])

    def classes(self, kind: type[Any]) -> dict[str, Any]:
        """The changed classes of this struct, by name."""
        return {key[2]: thing for key, thing in self.things.items() if key[0] is kind}

    def _any(self, kinds: Iterable[tuple[str, str]]) -> bool:
        structs = {KINDS[kind].struct for kind in kinds}
        return any(key[0] in structs for key in self.things)


class NowAndThen(Reader):
    """The cluster as it is, and with the changes.

    Classes give their priority when an object is created, so who names a changed class counts as created anew.
    """

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = KINDS
    matter: ClassVar[str] = "diff"

    def __init__(self, now: int, changed: Changed, by_owner: ByOwner | None = None) -> None:
        """`now`, `by_owner`: see `Planes`."""
        super().__init__()
        self._now, self._then = Planes(now, by_owner), Planes(now, by_owner)
        self._nodes, self._quota = changed.nodes, changed.quota
        self._renewals = 0
        """How many objects got another priority by a changed class."""
        self._changed = dict(changed.things)
        self._changed_places = changed.places
        self._added = set(changed.things)
        self._classes = changed.classes(PriorityClass)
        self._workload_classes = changed.classes(WorkloadPriorityClass)

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Planes`."""
        return self._now.do_without(kind, problem)

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        if isinstance(thing, WorkloadPriorityClass):
            return
        key = _key(thing)
        if (change := self._changed.get(key)) is not None:
            self._added.discard(key)
            self._changed[key] = _completed(change, thing)
        else:
            self._then.keep(self._renewed(thing), place)
        self._now.keep(thing, place)

    def refused_notes(self) -> list[str]:
        """Lines that name what could not be read, and what does not count."""
        return self._now.refused_notes()

    def pictures(self) -> tuple[Picture, Picture]:
        """The cluster as it is, and with the changes. Call it once, after the last object was read.

        Raises InputError for a changed object that cannot be used: without it the answer would be about another change.
        """
        for key, thing in self._changed.items():
            if key[0] is not WorkloadPriorityClass:
                self._change(as_changed(self._renewed(thing)), self._changed_places[key])
        return self._now.picture(nodes=self._nodes), self._then.picture(nodes=self._nodes)

    def _change(self, thing: Any, place: str) -> None:
        others = len(self._then.unusable_quota)
        self._then.keep(thing, place)
        for problem in self._then.unusable_quota[others:]:
            raise unusable_change(place, problem)

    def changes(self) -> Changes:
        """What is changed. Call it after `pictures`."""
        things = tuple(
            (
                TITLES[kind],
                f"{namespace}/{name}" if namespace else name,
                (kind, namespace, name) not in self._added,
            )
            for kind, namespace, name in self._changed
        )
        return Changes(things, self._nodes, self._quota, self._renewals)

    def _renewed(self, thing: Any) -> Any:
        """The object with the priority of a changed class."""
        if isinstance(thing, Pod) and thing.spec.priority_class_name in self._classes:
            return self._again(thing, preemption_policy=None)
        if isinstance(thing, PodGroup) and thing.spec.priority_class_name in self._classes:
            return self._again(thing)
        if isinstance(thing, Workload) and (ref := thing.spec.priority_class_ref) is not None:
            of = self._workload_classes if ref.group == "kueue.x-k8s.io" else self._classes
            known = of.get(ref.name)
            if known is not None and known.value != thing.spec.priority:
                self._renewals += 1
                return replace(thing, spec=replace(thing.spec, priority=known.value))
        return thing

    def _again(self, thing: Any, **fields: Any) -> Any:
        self._renewals += self._classes[thing.spec.priority_class_name].value != thing.spec.priority
        return replace(thing, spec=replace(thing.spec, priority=None, **fields))


def _key(thing: Any) -> Key:
    return type(thing), thing.metadata.namespace, thing.metadata.name


def _completed(change: Any, stored: Any) -> Any:
    """The changed object with what an API server keeps when it is applied: UID, creation time and status."""
    created = change.metadata.creation_timestamp or stored.metadata.creation_timestamp
    meta = replace(change.metadata, uid=stored.metadata.uid, creation_timestamp=created)
    fields = {"metadata": meta}
    status = getattr(change, "status", None)
    if hasattr(change, "status") and (status is None or status == unset(type(status))):
        fields["status"] = stored.status
    return replace(change, **fields)
