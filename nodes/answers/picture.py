"""What the tables of nodes and pods had at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from api.core import Pod
from api.foreign_owners import OwnerObject
from api.groups import PodGroup
from api.meta import OwnerReference
from api.plans import PreemptionPlan, PreemptionPlanSpec
from api.storage import PersistentVolumeClaim
from api.stored_plans import carried_out
from nodes.answers.with_groups import with_groups
from nodes.filters.pod_volumes import PodVolumes, claims_of
from nodes.groups.keys import is_native_name, is_owned
from nodes.groups.kinds.batch import JOB_SET, TRAIN_JOB
from nodes.groups.owners import is_its_owners, owner_name
from nodes.groups.registry import GroupKey
from nodes.state.columns.flags import Int32s
from nodes.state.groups.owner_groups import OwnerGroups
from nodes.state.pods.pod_facts import Controller
from nodes.state.snapshot import PlanRoom, Snapshot
from nodes.state.tables import Tables
from nodes.state.volumes.volume_facts import ClaimUse
from nodes.state.volumes.volumes import VolumeTable

__all__ = ["NodesPicture", "PodControllers", "room_of"]


@dataclass(frozen=True, slots=True)
class PodControllers:
    """Who would create pods again that are evicted."""

    rows: Int32s
    """By the row of the pod in the snapshot: the row in `known`, -1 for a pod without a controller."""
    known: Sequence[Controller | None]


@dataclass(frozen=True, slots=True)
class NodesPicture:
    """Copies of what the tables have. Later events do not change them."""

    snapshot: Snapshot
    owners: OwnerGroups
    """What owners and namespaces say, without the pods."""
    volumes: VolumeTable
    controllers: PodControllers
    succeeded: Mapping[GroupKey, Sequence[int]]
    """When the members of each group that Succeeded were created, in seconds since the epoch."""

    @classmethod
    def of(cls, tables: Tables) -> NodesPicture:
        """The tables as they are now."""
        snapshot, pods = tables.snapshot(), tables.pods
        keys, created = snapshot.group_keys, tables.succeeded_members.created()
        return cls(
            snapshot=snapshot,
            owners=tables.owners.sayings(),
            volumes=tables.volumes.copied(),
            controllers=PodControllers(
                pods.controller.array[: pods.size].copy(), tuple(pods.controllers.keys)
            ),
            succeeded={keys[row]: times for row, times in created.items()},
        )

    def with_plans(self, plans: Iterable[PreemptionPlan]) -> NodesPicture:
        """Another picture, in which these stored plans hold the room that they hold in the cluster.

        Their victims are not compressed.
        """
        return self.with_rooms([room_of(plan.spec) for plan in carried_out(plans)])

    def with_rooms(self, rooms: Sequence[PlanRoom]) -> NodesPicture:
        """Another picture, in which plans hold this room."""
        return replace(self, snapshot=replace(self.snapshot, plans=tuple(rooms))) if rooms else self

    def with_groups(self, forms: Sequence[PodGroup]) -> NodesPicture:
        """A picture in which these groups exist, too. Raises ValueError for an invalid time."""
        if not forms:
            return self  # the columns of all groups are made anew
        owners = self.owners.sayings()
        for each in forms:
            if is_native_name(each.metadata.name):
                owners.know_native((each.metadata.namespace, each.metadata.name), each)
        return replace(self, snapshot=with_groups(self.snapshot, forms, self.succeeded), owners=owners)

    def with_claims(self, claims: Sequence[PersistentVolumeClaim]) -> NodesPicture:
        """Another picture, in which these claims are made. Raises ValueError for an invalid quantity or selector."""
        volumes = self.volumes.copied()
        for each in claims:
            volumes.suppose(each)
        return replace(self, volumes=volumes)

    def with_owners(self, items: Sequence[OwnerObject]) -> NodesPicture:
        """Another picture, in which these owners say what they say. The pods of the snapshot stay where they are."""
        owners = self.owners.sayings()
        for each in items:
            owners.upsert_owner(each)
        return replace(self, owners=owners)

    def group(self, key: GroupKey) -> PodGroup | None:
        """The group of this key, if it exists."""
        row = self._row(key)
        return self.snapshot.groups[row] if row is not None else None

    def members(self, key: GroupKey) -> list[int]:
        """Rows of the pods that belong to the group, which need not exist."""
        row, snapshot = self._row(key), self.snapshot
        if row is None:
            return []
        found: list[int] = np.flatnonzero(snapshot.pod_live & (snapshot.pod_group == row)).tolist()
        return found

    def _row(self, key: GroupKey) -> int | None:
        try:
            return self.snapshot.group_keys.index(key)
        except ValueError:
            return None

    def controlled(self, uid: str) -> list[int]:
        """Rows of the pods whose controller has this UID."""
        held = [
            row for row, each in enumerate(self.controllers.known) if each is not None and each.uid == uid
        ]
        found: list[int] = np.flatnonzero(np.isin(self.controllers.rows, held)).tolist()
        return found

    def grouped(self, namespace: str, owner: OwnerReference) -> list[int]:
        """Rows of the pods that are the group of an owner, and that other controllers may create for it."""
        group, by_runtime = owner.api_version.rpartition("/")[0], owner.kind == TRAIN_JOB.kind
        source = JOB_SET.source if by_runtime else f"{owner.kind}.{group}"
        found = list[int]()
        for key in self.snapshot.group_keys:
            if key[0] == namespace and is_owned(key[1]) and is_its_owners(key[1]):
                its = owner_name(key[1])
                is_it = (its.source, its.name) == (source, owner.name)
                if is_it and (by_runtime or its.uid in ("", owner.uid)):
                    found += self.members(key)
        return found

    def controller_of(self, uid: str) -> Controller | None:
        """Who would create the pod with this UID again; None if nobody would, or there is no such pod."""
        row = self.snapshot.pod_rows.get(uid)
        held = self.controllers.rows.item(row) if row is not None else -1
        return self.controllers.known[held] if held >= 0 else None

    def behind(self, pod: Pod) -> tuple[PodVolumes | None, tuple[ClaimUse, ...]]:
        """What is behind the claims of a pod that need not exist; None for a pod without claims."""
        claims = claims_of(pod)
        volumes = self.volumes.resolve(claims, exists=False) if claims else None
        return volumes, self.volumes.uses(claims)


def room_of(spec: PreemptionPlanSpec) -> PlanRoom:
    """The room that a plan of this decision holds while it is carried out."""
    preemptor = spec.preemptor
    return PlanRoom(
        kind="Pod" if preemptor.kind == "Pod" else "PodGroup",
        namespace=preemptor.namespace,
        name=preemptor.name,
        uid=preemptor.uid,
        priority=preemptor.priority,
        nodes={
            each.uid: each.node for each in spec.placements if not (each.beyond_min_count or each.any_node)
        },
        victims=frozenset(pod.uid for victim in spec.victims for pod in victim.pods),
    )
