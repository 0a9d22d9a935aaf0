"""What the checks look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from answers.doctor.kinds import SeenPod
from answers.errors import UnreadError
from api.core import Namespace
from api.foreign_owners import OwningJob, OwningStatefulSet
from api.lease import Lease
from api.meta import controller_reference
from api.published import NAMESPACE, PLANNING_MODE, PROCESS, QUOTA_MODE, SCHEDULERS
from nodes.groups.kinds.table import OWNERS
from nodes.groups.owner_objects import by_owner_of
from nodes.state.groups.owner_groups import OwnerGroups

__all__ = ["Seen"]

OWNER_TYPES: Final[Sequence[type[Any]]] = (
    *(each.type for each in OWNERS.values() if each.type is not OwningJob),
    OwningStatefulSet,
    OwningJob,
    Namespace,
)
"""Kinds that say whether pods belong together."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The objects of a cluster, as far as the checks look at them."""

    things: Mapping[type[Any], Sequence[Any]]
    """By struct, in the order of namespace and name."""
    unread: Sequence[str] = ()
    """Rights that are missing to read what says whether pods belong together."""
    clusters_unread: Sequence[str] = ()
    """Rights that are missing to read what a manager says of worker clusters."""
    missing: Mapping[type[Any], str] = field(default_factory=dict)
    """What could not be read, by struct, and why. Without it, checks that need it say nothing."""
    target: str = ""
    """The `planning.mode` for which the cluster is examined; empty: that of the leader."""

    def owners(self) -> OwnerGroups:
        """What owners and namespaces say of the groups of pods."""
        controllers = {
            each.metadata.uid: owner.uid if (owner := controller_reference(each.metadata)) is not None else ""
            for each in self.all(SeenPod)
        }
        groups = OwnerGroups(by_owner_of(self.published()) or "Victims", controllers.get)
        for kind in OWNER_TYPES:
            for each in self.all(kind):
                match each:
                    case Namespace():
                        groups.upsert_namespace(each.metadata.name, each.metadata.annotations)
                    case OwningStatefulSet():
                        groups.upsert_stateful_set(each)
                    case _:
                        groups.upsert_owner(each)
        return groups

    def all(self, kind: type[Any]) -> Sequence[Any]:
        """All objects of that struct, in the order of namespace and name. Raises UnreadError if they were not read."""
        if kind in self.missing:
            raise UnreadError(self.missing[kind])
        return self.things.get(kind, ())

    def ours(self, kind: type[Any], name: str = PROCESS) -> Any | None:
        """The object of that name that belongs to reprieve; None if it is not there."""
        found = (each for each in self.all(kind) if each.metadata.name == name)
        return next((each for each in found if each.metadata.namespace in ("", NAMESPACE)), None)

    def published(self) -> dict[str, str]:
        """What the leader says of itself: the annotations of its Lease."""
        lease = self.ours(Lease)
        return (lease.metadata.annotations or {}) if lease is not None else {}

    def called_at(self) -> dict[str, str]:
        """When each scheduler called last (RFC 3339), by schedulerName. Text that somebody else wrote says nothing."""
        try:
            return msgspec.json.decode(self.published().get(SCHEDULERS, "{}"), type=dict[str, str])
        except msgspec.DecodeError:
            return {}

    def planning_mode(self) -> str:
        """`planning.mode` of the leader, or the one that is asked about; empty if it is not known."""
        return self.target or self.published().get(PLANNING_MODE, "")

    def manages_quota(self) -> bool:
        """Whether reprieve writes to Kueue's kinds."""
        return self.published().get(QUOTA_MODE) == "Enforce"
