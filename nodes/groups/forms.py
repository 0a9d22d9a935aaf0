"""The one internal form of a group, whatever program made it: a PodGroup of ours, under the name of its kind.

minCount, priority, topology and disruption mode are the fields of `PodGroupSpec`. Each source fills in what its objects
say. A group whose object is not known has the form that `implied` makes from its name. See docs/decisions/0073.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID, uuid5

from msgspec.structs import replace

from api.core import PriorityClass
from api.groups import (
    INITIALLY_SCHEDULED,
    DisruptionMode,
    Empty,
    GangSchedulingPolicy,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    PodGroupStatus,
    goes_whole,
)
from api.meta import Condition, ObjectMeta, OwnerReference
from api.priority import group_priority
from nodes.groups.keys import (
    COSCHEDULING,
    NATIVE,
    SEPARATOR,
    VOLCANO,
    is_foreign,
    is_native_name,
    is_owned,
    source_of,
)
from nodes.groups.owners import is_its_owners, owner_name

__all__ = [
    "ALL_PREEMPTING",
    "HIGHEST",
    "PREEMPTING",
    "ObjectName",
    "Sources",
    "asking",
    "by_its_pods",
    "comes_from_elsewhere",
    "form_of",
    "implied",
    "is_basic",
    "is_native",
    "may_ask",
    "object_name",
    "of_owner",
    "replaces_priority",
    "victim_priority",
]

HIGHEST: Final = 2**31 - 1
"""The priority of a group that has none of its own. No pod has a higher one, so the priority of its pods counts."""
MOST: Final = 2**31 - 1
NAMES: Final = UUID("6b1e1c3a-0f0e-4c5e-9f5e-3d1f6f5a2b69")
"""Plans name victims by UID. A group whose pods do not tell its UID gets one from its name, the same everywhere."""
RAN: Final = PodGroupStatus(
    conditions=[Condition(type=INITIALLY_SCHEDULED, status="True", reason="Scheduled", message="")]
)
"""What our own PodGroup says once it has run whole."""
Sources = frozenset[str]
"""See `nodes.groups.keys.source_of`."""
PREEMPTING: Final[Sources] = frozenset({COSCHEDULING, VOLCANO})
"""Sources whose gangs ask for room as one, whatever the configuration says."""
ALL_PREEMPTING: Final[Sources] = PREEMPTING | {NATIVE}
"""The same if native gangs ask, too. Otherwise Kubernetes' scheduler alone plans for them."""
OFTEN_ELSEWHERE: Final = frozenset({VOLCANO, NATIVE})
"""Those of them that have a scheduler of their own. A gang counts once the one that its pods name has called us."""


def implied(namespace: str, name: str) -> PodGroup:
    """The form of a group of another kind, from its name alone.

    It is evicted whole or not at all, by the lowest priority of its pods. It is no gang of ours: its pods ask for room
    one by one, as they are.
    """
    uid = owner_name(name).uid if is_its_owners(name) else ""
    meta = ObjectMeta(name=name, namespace=namespace, uid=uid or _made_up(f"{namespace}/{name}"))
    return form_of(meta, name)


def _made_up(name: str) -> str:
    return str(uuid5(NAMES, name))


def form_of(
    meta: ObjectMeta,
    name: str,
    api_version: str = "",
    *,
    minimum: int = 0,
    priority_class: str = "",
    has_run: bool = False,
) -> PodGroup:
    """The form of a group that is evicted whole. `meta`: of its object. `name`: its name in the tables.

    `minimum`: how many pods must run; it is a gang if that is more than 0. `priority_class`: says whether it may
    preempt. Its pods say its priority.
    """
    gang = GangSchedulingPolicy(min(minimum, MOST)) if minimum > 0 else None
    policy = PodGroupSchedulingPolicy(gang=gang, basic=None if gang is not None else Empty())
    return PodGroup(
        api_version=api_version,
        metadata=replace(meta, name=name),
        spec=PodGroupSpec(
            scheduling_policy=policy,
            disruption_mode=DisruptionMode(all=Empty()),
            priority=HIGHEST,
            priority_class_name=priority_class or None,
        ),
        status=RAN if has_run else None,
    )


def of_owner(owner: OwnerReference, meta: ObjectMeta, name: str, minimum: int) -> PodGroup:
    """The form of the group that an owner's pods are. `meta`: of the owner. `name`, `minimum`: see `form_of`.

    An owner may have several such groups, so only a group that has its owner's name has its UID.
    """
    within = meta.namespace if owner_name(name).uid else meta.uid
    uid = meta.uid if is_its_owners(name) else _made_up(f"{within}/{name}")
    its = replace(meta, uid=uid, owner_references=[owner])
    return form_of(its, name, owner.api_version, minimum=minimum)


def asking(group: PodGroup | None, sources: Sources = PREEMPTING) -> PodGroup | None:
    """The group, if its priority and policies replace those of its pods when they preempt.

    So it is with ours, and with a gang of another kind that we plan for. `sources`: of these.
    """
    if group is None or not is_foreign(group.metadata.name):
        return group
    is_gang = group.spec.scheduling_policy.gang is not None
    return group if is_gang and may_ask(group.metadata.name, sources) else None


def by_its_pods(group: PodGroup) -> bool:
    """Whether its pods alone say its priority. No PodGroup of ours is so."""
    return is_foreign(group.metadata.name) and group.spec.priority == HIGHEST


def replaces_priority(group: PodGroup) -> bool:
    """Whether its priority replaces those of its pods, also where it goes whole. kube-scheduler evicts it by that."""
    return is_native(group) and not by_its_pods(group)


def victim_priority(group: PodGroup, lowest: int | None, classes: Mapping[str, PriorityClass]) -> int:
    """The priority at which a unit of the group may be evicted: all that runs of it, or one pod of it.

    `lowest`: the lowest priority of the unit's pods; None if it has none. Raises UnknownPriorityClass.
    """
    own = group_priority(group, classes)
    counts = not replaces_priority(group) and (goes_whole(group) or by_its_pods(group))
    return min(own, lowest) if counts and lowest is not None else own


def may_ask(name: str, sources: Sources = PREEMPTING) -> bool:
    """Whether a group of this name may ask for room as one, if it is a gang. `sources`: those whose gangs may."""
    return not is_foreign(name) or is_owned(name) or source_of(name) in sources


def is_native(group: PodGroup | None) -> bool:
    """Whether kube-scheduler knows the group: its object is a PodGroup of scheduling.k8s.io, and it exists."""
    return group is not None and is_native_name(group.metadata.name) and bool(group.api_version)


def is_basic(group: PodGroup | None) -> bool:
    """Whether kube-scheduler knows the group, and it is no gang: then it takes no pod from a group of another kind."""
    return is_native(group) and group is not None and group.spec.scheduling_policy.gang is None


def comes_from_elsewhere(name: str) -> bool:
    """Whether such a gang may have a scheduler that never calls us.

    It counts once the scheduler that its pods name has called us. Nobody has told us of it.
    """
    return is_owned(name) or source_of(name) in OFTEN_ELSEWHERE


class ObjectName(NamedTuple):
    """The object of a group, as events name it."""

    api_version: str
    kind: str
    name: str
    uid: str


def object_name(group: PodGroup) -> ObjectName:
    """The object that the form was made from."""
    name, uid = group.metadata.name, group.metadata.uid
    if not is_foreign(name):
        return ObjectName(group.api_version, group.kind, name, uid)
    for owner in group.metadata.owner_references or ():
        return ObjectName(owner.api_version, owner.kind, owner.name, owner.uid)
    source, bare, *_ = name.split(SEPARATOR)
    kind = source.partition(".")[0]
    return ObjectName(group.api_version, "PodGroup" if kind == "podgroups" else kind, bare, uid)
