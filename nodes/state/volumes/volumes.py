"""The table of claims, volumes and what describes storage, and what is behind the claims of a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, get_args

import msgspec

from api.quantity import value
from api.selectors import check_selector
from api.storage import (
    NO_PROVISIONER,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from nodes.filters.node_volume_limits import IN_TREE, MIGRATED
from nodes.filters.pod_volumes import AvailableVolume, ClaimReference, ClassStorage, PodVolumes
from nodes.filters.volume_binding import CLAIM, EPHEMERAL, is_alike
from nodes.state.columns.shared import SharedSets
from nodes.state.volumes.attach_limits import AttachLimits
from nodes.state.volumes.found import Found, Size, refusal_of
from nodes.state.volumes.volume_facts import (
    ClaimFacts,
    ClaimKey,
    ClaimUse,
    Handle,
    VolumeFacts,
    claim_facts,
    volume_facts,
)

__all__ = ["STORAGE_KINDS", "StorageObject", "VolumeTable"]

UNKNOWN_VOLUME: Final = "persistent volume that is not known"
UNKNOWN_CLASS: Final = "storage class that is not known"
NOT_MADE: Final = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"
IS_DEFAULT: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
"""Annotations of a StorageClass."""
WAITS: Final = "WaitForFirstConsumer"
MIGRATED_PROVISIONERS: Final = frozenset(provisioner for _, provisioner, _ in IN_TREE)

StorageObject = (
    PersistentVolumeClaim | PersistentVolume | StorageClass | CSINode | CSIDriver | CSIStorageCapacity
)
STORAGE_KINDS: Final[tuple[type[StorageObject], ...]] = get_args(StorageObject)
Claims = set[ClaimKey]


class VolumeTable:
    """Claims, volumes, StorageClasses, CSINodes, CSIDrivers and CSIStorageCapacities.

    A method that changes the table returns the claims behind which something else may be now. It raises ValueError,
    and changes nothing, for an invalid quantity or selector.
    """

    def __init__(self, is_complete: bool = False) -> None:
        """`is_complete`: what is not there does not exist. Files may leave things out."""
        self._is_complete = is_complete
        self.claims: dict[ClaimKey, ClaimFacts] = {}
        self.limits = AttachLimits()
        self._volumes: dict[str, VolumeFacts] = {}
        self._classes: dict[str, StorageClass] = {}
        self._tracked: set[str] = set()
        """CSI drivers that say how much room they have."""
        self.needed_drivers: frozenset[str] = frozenset()
        """CSI drivers without which a node takes no pod with a volume of theirs."""
        self._capacities: dict[ClaimKey, CSIStorageCapacity] = {}
        self._of_volume = SharedSets[str, ClaimKey]()
        self._of_class = SharedSets[str, ClaimKey]()
        self._volumes_of_class = SharedSets[str, str]()
        self._reserved = SharedSets[ClaimKey, str]()
        """Volumes by the claim that their claimRef names."""
        self._storage: dict[str, ClassStorage] = {}
        self._version = 0

    def copied(self) -> VolumeTable:
        """What is behind claims now. Later events of one do not change the other; `limits` is shared."""
        other = VolumeTable(self._is_complete)
        other.claims, other.limits = dict(self.claims), self.limits
        other._volumes, other._classes = dict(self._volumes), dict(self._classes)
        other._tracked, other.needed_drivers = set(self._tracked), self.needed_drivers
        other._capacities = dict(self._capacities)
        other._of_volume, other._of_class = self._of_volume.copied(), self._of_class.copied()
        other._volumes_of_class = self._volumes_of_class.copied()
        other._reserved = self._reserved.copied()
        other._storage, other._version = dict(self._storage), self._version
        return other

    # ---- events

    def upsert(self, item: StorageObject) -> Claims:
        """Add or change an object."""
        upsert, _ = _METHODS[type(item)]
        return upsert(self, item)

    def delete(self, kind: type[StorageObject], namespace: str, name: str) -> Claims:
        """Remove an object of this kind."""
        _, delete = _METHODS[kind]
        return delete(self, (namespace, name))

    def upsert_claim(self, claim: PersistentVolumeClaim) -> Claims:
        """Add or change a claim."""
        key, facts = (claim.metadata.namespace, claim.metadata.name), claim_facts(claim)
        before = self.claims.get(key)
        if before == facts:
            return set()
        if before is not None:
            self._forget_claim(key, before)
        self.claims[key] = facts
        self._of_class.add(facts.wanted.storage_class, key)
        if facts.volume:
            self._of_volume.add(facts.volume, key)
        return {key}

    def delete_claim(self, key: ClaimKey) -> Claims:
        """Remove a claim."""
        before = self.claims.pop(key, None)
        if before is None:
            return set()
        self._forget_claim(key, before)
        return {key}

    def _forget_claim(self, key: ClaimKey, facts: ClaimFacts) -> None:
        self._of_class.discard(facts.wanted.storage_class, key)
        self._of_volume.discard(facts.volume, key)

    def upsert_volume(self, volume: PersistentVolume) -> Claims:
        """Add or change a volume."""
        name, facts = volume.metadata.name, volume_facts(volume)
        before = self._volumes.get(name)
        if before == facts:
            return set()
        changed = self._forget_volume(name, before) if before is not None else set()
        self._volumes[name] = facts
        self._volumes_of_class.add(facts.storage_class, name)
        if facts.claim is not None:
            self._reserved.add((facts.claim.namespace, facts.claim.name), name)
        return changed | self._behind(name, facts)

    def delete_volume(self, key: ClaimKey) -> Claims:
        """Remove a volume."""
        before = self._volumes.pop(key[1], None)
        return self._forget_volume(key[1], before) if before is not None else set()

    def _forget_volume(self, name: str, facts: VolumeFacts) -> Claims:
        self._volumes_of_class.discard(facts.storage_class, name)
        if facts.claim is not None:
            self._reserved.discard((facts.claim.namespace, facts.claim.name), name)
        return self._behind(name, facts)

    def _behind(self, name: str, facts: VolumeFacts) -> Claims:
        """The claims that have the volume, or could get it."""
        found = set(self._of_volume.get(name))
        if facts.claim is not None:
            found.add((facts.claim.namespace, facts.claim.name))
        return found | self._renew(facts.storage_class) if facts.is_free else found

    def upsert_class(self, storage_class: StorageClass) -> Claims:
        """Add or change a StorageClass."""
        name = storage_class.metadata.name
        self._classes[name] = storage_class
        return self._renew(name)

    def delete_class(self, key: ClaimKey) -> Claims:
        """Remove a StorageClass."""
        return self._renew(key[1]) if self._classes.pop(key[1], None) is not None else set()

    def upsert_driver(self, driver: CSIDriver) -> Claims:
        """Add or change a CSIDriver."""
        name, spec = driver.metadata.name, driver.spec
        needed = {name} if spec.prevent_pod_scheduling_if_missing else set()
        self.needed_drivers = self.needed_drivers - {name} | needed
        return self._track(name, is_tracked=bool(spec.storage_capacity))

    def delete_driver(self, key: ClaimKey) -> Claims:
        """Remove a CSIDriver."""
        self.needed_drivers -= {key[1]}
        return self._track(key[1], is_tracked=False)

    def _track(self, driver: str, *, is_tracked: bool) -> Claims:
        if (driver in self._tracked) == is_tracked:
            return set()
        self._tracked ^= {driver}
        return self._renew(*self._served_by(driver))

    def _served_by(self, driver: str) -> list[str]:
        return [name for name, each in self._classes.items() if each.provisioner == driver]

    def upsert_capacity(self, capacity: CSIStorageCapacity) -> Claims:
        """Add or change a CSIStorageCapacity."""
        if capacity.node_topology is not None:
            check_selector(capacity.node_topology, "nodeTopology")
        _limit(capacity)
        key = (capacity.metadata.namespace, capacity.metadata.name)
        before = self._capacities.get(key)
        self._capacities[key] = capacity
        return self._renew(
            capacity.storage_class_name, *([before.storage_class_name] if before is not None else [])
        )

    def delete_capacity(self, key: ClaimKey) -> Claims:
        """Remove a CSIStorageCapacity."""
        before = self._capacities.pop(key, None)
        return self._renew(before.storage_class_name) if before is not None else set()

    def upsert_node(self, node: CSINode) -> Claims:
        """Add or change a CSINode. It is behind no claim."""
        self.limits.upsert(node)
        return set()

    def delete_node(self, key: ClaimKey) -> Claims:
        """Remove a CSINode."""
        self.limits.delete(key[1])
        return set()

    def _renew(self, *classes: str) -> Claims:
        """These StorageClasses have something else now. Returns the claims that could get it."""
        found: Claims = set()
        for name in classes:
            self._storage.pop(name, None)
            found.update(key for key in self._of_class.get(name) if self._asks_class(self.claims[key]))
        return found

    def _asks_class(self, claim: ClaimFacts) -> bool:
        """Whether its StorageClass matters for the claim: it has no volume, or nobody knows the volume."""
        return not claim.bound or claim.volume not in self._volumes

    def suppose(self, claim: PersistentVolumeClaim) -> None:
        """Add a claim that somebody would make, if the node of its pod decides about its volume.

        Of any other one nobody knows which volume it would get, and so it stays one that is not found. A claim of its
        name that exists is kept. Raises ValueError for an invalid quantity or selector.
        """
        name = claim.spec.storage_class_name
        name = self._default_class() if name is None else name
        known = self._classes.get(name)
        is_new = (claim.metadata.namespace, claim.metadata.name) not in self.claims
        if is_new and known is not None and known.volume_binding_mode == WAITS and not claim.spec.volume_name:
            self.upsert_claim(
                msgspec.structs.replace(
                    claim, spec=msgspec.structs.replace(claim.spec, storage_class_name=name)
                )
            )

    def _default_class(self) -> str:
        """The StorageClass that admission gives to a claim that names none: the newest one; empty if there is none."""
        found = [
            (each.metadata.creation_timestamp or "", name)
            for name, each in self._classes.items()
            if any((each.metadata.annotations or {}).get(said) == "true" for said in IS_DEFAULT)
        ]
        latest = max((created for created, _ in found), default="")
        return min((name for created, name in found if created == latest), default="")

    # ---- what is behind claims

    def resolve(self, references: Iterable[ClaimReference], *, exists: bool = True) -> PodVolumes:
        """What is behind the claims of a pod. A pod that does not exist yet may get claims that do not either."""
        found = Found(self._is_complete and exists)
        for reference in references:
            key = (reference.namespace, reference.name)
            claim = self.claims.get(key)
            if claim is None:
                if reference.is_ephemeral:
                    found.lacks(EPHEMERAL, f'{NOT_MADE} "{reference.name}"')
                else:
                    found.lacks(CLAIM, f'persistentvolumeclaim "{reference.name}" not found')
                continue
            if claim.exclusive and not reference.is_ephemeral:
                found.exclusive.add("/".join(key))
            if refusal := refusal_of(reference, claim):
                found.refusals.append(refusal)
            elif claim.bound:
                self._add_bound(found, reference, claim)
            else:
                self._add_unbound(found, key, claim)
        return found.volumes()

    def handle(self, key: ClaimKey) -> Handle | None:
        """The volume that a node attaches for a pod with this claim; None if it counts against no limit.

        A claim without a volume will get a volume of its own.
        """
        claim = self.claims.get(key)
        volume = self._volumes.get(claim.volume) if claim is not None else None
        if claim is None or volume is not None:
            return volume.handle if volume is not None else None
        storage_class = self._classes.get(claim.wanted.storage_class)
        return (storage_class.provisioner, "/".join(key)) if storage_class is not None else None

    def uses(self, claims: Iterable[ClaimReference]) -> tuple[ClaimUse, ...]:
        """The claims of a pod, with the volumes that its node attaches for them."""
        keys = ((each.namespace, each.name) for each in claims)
        return tuple(ClaimUse(key, self.handle(key)) for key in keys)

    def _add_bound(self, found: Found, reference: ClaimReference, claim: ClaimFacts) -> None:
        volume = self._volumes.get(claim.volume)
        if volume is None:
            found.lacks(UNKNOWN_VOLUME, f'persistentvolume "{claim.volume}" not found')
            return
        if volume.migrated:
            found.names.add(MIGRATED)
        if volume.available.affinity is not None:
            found.affinity.append(volume.available.affinity)
        if not reference.is_ephemeral:
            found.zones += volume.zones

    def _add_unbound(self, found: Found, key: ClaimKey, claim: ClaimFacts) -> None:
        name = claim.wanted.storage_class
        storage_class = self._classes.get(name)
        if name and storage_class is None and not claim.volume:
            found.lacks(UNKNOWN_CLASS, UNBOUND)
        elif claim.volume or storage_class is None or storage_class.volume_binding_mode != WAITS:
            found.refusals.append(UNBOUND)
        else:
            wanted = claim.wanted._replace(volume=self._reserved_for(key, claim))
            found.unbound.append((wanted, self._storage_of(storage_class)))
            if storage_class.provisioner in MIGRATED_PROVISIONERS:
                found.names.add(MIGRATED)

    def _reserved_for(self, key: ClaimKey, claim: ClaimFacts) -> AvailableVolume | None:
        for name in sorted(self._reserved.get(key)):
            volume = self._volumes[name]
            same = volume.claim is not None and volume.claim.uid in ("", claim.uid)
            alike = volume.storage_class == claim.wanted.storage_class and is_alike(
                claim.wanted, volume.available
            )
            if same and alike and not volume.terminating:
                return volume.available
        return None

    def _storage_of(self, storage_class: StorageClass) -> ClassStorage:
        name = storage_class.metadata.name
        known = self._storage.get(name)
        if known is None:
            self._version += 1
            volumes = (self._volumes[each] for each in self._volumes_of_class.get(name))
            free = (each.available for each in volumes if each.is_free and not each.terminating)
            provisioner = storage_class.provisioner
            known = self._storage[name] = ClassStorage(
                version=self._version,
                volumes=tuple(sorted(free, key=lambda each: (Size(each.size), each.name))),
                provisions=provisioner not in ("", NO_PROVISIONER),
                allowed_topologies=tuple(storage_class.allowed_topologies or ()),
                capacities=self._capacities_of(name) if provisioner in self._tracked else None,
            )
        return known

    def _capacities_of(self, storage_class: str) -> tuple[tuple[Any, int], ...]:
        return tuple(
            (each.node_topology, limit)
            for _, each in sorted(self._capacities.items())
            if each.storage_class_name == storage_class and each.node_topology is not None
            if (limit := _limit(each)) is not None
        )


def _limit(capacity: CSIStorageCapacity) -> int | None:
    """The largest volume in bytes (volumeLimit). Raises QuantityError."""
    said = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return value(said) if said is not None else None


_METHODS: Final[dict[type[Any], tuple[Callable[[VolumeTable, Any], Claims], Callable[..., Claims]]]] = {
    PersistentVolumeClaim: (VolumeTable.upsert_claim, VolumeTable.delete_claim),
    PersistentVolume: (VolumeTable.upsert_volume, VolumeTable.delete_volume),
    StorageClass: (VolumeTable.upsert_class, VolumeTable.delete_class),
    CSIDriver: (VolumeTable.upsert_driver, VolumeTable.delete_driver),
    CSIStorageCapacity: (VolumeTable.upsert_capacity, VolumeTable.delete_capacity),
    CSINode: (VolumeTable.upsert_node, VolumeTable.delete_node),
}
"""For each kind what adds or changes an object, and what removes the one with this key."""
