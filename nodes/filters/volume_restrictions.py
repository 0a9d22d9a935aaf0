"""VolumeRestrictions: which pods cannot use the same disk on one node, or the same claim at one time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import ClassVar, NamedTuple

from api.core import Pod, Volume
from nodes.filters.filter import EVERYWHERE, PodFilter, Tenant, Token
from nodes.filters.pod_volumes import PodVolumes

__all__ = ["Disk", "VolumeRestrictions"]


class Disk(NamedTuple):
    """A volume in the pod's spec that pods on one node cannot share, unless all of them only read it."""

    kind: str
    names: tuple[str, ...]
    """Sorted. Two disks are the same if their kinds and `place` are equal and they have a name in common."""
    place: tuple[str, ...] = ()
    read_only: bool = False

    def conflicts(self, other: Disk) -> bool:
        """Whether two pods with these cannot share a node."""
        same = (self.kind, self.place) == (other.kind, other.place) and set(self.names) & set(other.names)
        return bool(same) and not (self.read_only and other.read_only)


class Restrictions(NamedTuple):
    """The disks of a pod, sorted, and its claims with ReadWriteOncePod."""

    disks: tuple[Disk, ...]
    claims: tuple[str, ...] = ()


class DiskToken(Token):
    """A disk of a member. The member forbids the token; every pod with a conflicting disk brings it."""

    __slots__ = ("disk",)
    reason: ClassVar[str] = "node(s) had no available disk"
    by_labels: ClassVar[bool] = False

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def brought_by(self, tenant: Tenant) -> bool:
        """The pod has a disk that conflicts with this one."""
        return tenant.needs is not None and any(self.disk.conflicts(each) for each in tenant.needs.disks)

    def forbidden_by(self, tenant: Tenant) -> bool:
        """The pod has exactly this disk."""
        return tenant.needs is not None and self.disk in tenant.needs.disks


class ClaimToken(Token):
    """A claim with ReadWriteOncePod. One pod of the cluster can use it."""

    __slots__ = ("claim",)
    reason: ClassVar[str] = (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
        "another pod"
    )
    by_labels: ClassVar[bool] = False

    def __init__(self, claim: str) -> None:
        self.claim = claim

    @property
    def name(self) -> str:
        """The access mode."""
        return "a claim with ReadWriteOncePod"

    @property
    def topology_key(self) -> str:
        """The whole cluster is one domain."""
        return EVERYWHERE

    def brought_by(self, tenant: Tenant) -> bool:
        """The pod uses the claim."""
        return tenant.needs is not None and self.claim in tenant.needs.claims

    def forbidden_by(self, tenant: Tenant) -> bool:
        """As `brought_by`."""
        return self.brought_by(tenant)


class VolumeRestrictions(PodFilter[Restrictions]):
    """Needs: the disks in the pod's spec, and its claims with ReadWriteOncePod."""

    name: ClassVar[str] = "VolumeRestrictions"

    def needs(self, pod: Pod) -> Restrictions | None:
        """The disks. The claims are not known yet."""
        disks = {disk for volume in pod.spec.volumes or () if (disk := _disk(volume)) is not None}
        return Restrictions(tuple(sorted(disks))) if disks else None

    def needs_with_claims(self, needs: Restrictions | None, volumes: PodVolumes) -> Restrictions | None:
        """Both."""
        if not volumes.exclusive:
            return needs
        return (needs or Restrictions(()))._replace(claims=volumes.exclusive)

    def looks_afar(self, needs: Restrictions) -> bool:
        """A claim may be in use on another node."""
        return bool(needs.claims)

    def tokens(self, members: Collection[Tenant], running: Iterable[Tenant]) -> Iterator[Token]:
        """One token for each disk of a member, and for each claim that several pods want."""
        mine = [member.needs for member in members if member.needs is not None]
        yield from (DiskToken(disk) for disk in sorted({disk for needs in mine for disk in needs.disks}))
        yield from (
            ClaimToken(claim) for claim in sorted({claim for needs in mine for claim in needs.claims})
        )

    def reaches(self, running: Tenant, member: Tenant) -> bool:
        """Whether both use one of these claims."""
        if running.needs is None or member.needs is None:
            return False
        return not set(running.needs.claims).isdisjoint(member.needs.claims)


def _disk(volume: Volume) -> Disk | None:
    if (gce := volume.gce_persistent_disk) is not None:
        return Disk("GCEPersistentDisk", (gce.pd_name,), read_only=gce.read_only)
    if (ebs := volume.aws_elastic_block_store) is not None:
        return Disk("AWSElasticBlockStore", (ebs.volume_id,))
    if (iscsi := volume.iscsi) is not None:
        return Disk("ISCSI", (iscsi.iqn,), read_only=iscsi.read_only)
    if (rbd := volume.rbd) is not None:
        return Disk("RBD", tuple(sorted(rbd.monitors or ())), (rbd.pool, rbd.image), rbd.read_only)
    return None
