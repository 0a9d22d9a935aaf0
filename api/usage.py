"""What Kueue's controllers report of its queues: the status of ClusterQueue, Cohort and LocalQueue."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from api.core import Int32, Quantities
from api.meta import Conditions, Defaulting, Name, OrDefault, Quantity, Struct, Time

__all__ = [
    "ClusterQueueStatus",
    "CohortStatus",
    "FairSharingStatus",
    "FlavorUsage",
    "LocalQueueAdmissionFairSharingStatus",
    "LocalQueueFairSharingStatus",
    "LocalQueueFlavorUsage",
    "LocalQueueResourceUsage",
    "LocalQueueStatus",
    "ResourceUsage",
]


class FairSharingStatus(Struct):
    """Where sharing stands."""

    weighted_share: int
    """The highest of the ratios of what is used beyond nominal quota to what the cohort can lend, in thousandths,
    divided by the weight; 9223372036854775807 for a weight of zero that borrows."""


class ResourceUsage(Struct):
    """What of one resource is in use."""

    name: str
    """The resource."""
    total: Quantity | None = None
    """What is used, with what is borrowed."""
    borrowed: Quantity | None = None
    """What is used beyond nominalQuota."""


class FlavorUsage(Struct):
    """What of one flavor is in use."""

    name: Name
    """The flavor."""
    resources: Annotated[list[ResourceUsage], Meta(max_length=64)]
    """Its resources."""


class ClusterQueueStatus(Defaulting):
    """What is in use, and what waits."""

    conditions: Conditions | None = None
    """Active: whether workloads can be admitted, and why not."""
    flavors_reservation: Annotated[list[FlavorUsage], Meta(max_length=64)] | None = None
    """The quota that workloads have reserved."""
    flavors_usage: Annotated[list[FlavorUsage], Meta(max_length=64)] | None = None
    """The quota that admitted workloads use."""
    pending_workloads: OrDefault[Int32] = 0
    """Workloads that wait."""
    reserving_workloads: OrDefault[Int32] = 0
    """Workloads that have reserved quota."""
    admitted_workloads: OrDefault[Int32] = 0
    """Workloads that are admitted and not finished."""
    fair_sharing: FairSharingStatus | None = None
    """Where fair sharing stands, when it is on."""


class CohortStatus(Struct):
    """Where the cohort stands."""

    fair_sharing: FairSharingStatus | None = None
    """Where fair sharing stands, when it is on."""


class LocalQueueResourceUsage(Struct):
    """What of one resource is in use."""

    name: str
    """The resource."""
    total: Quantity | None = None
    """What is used."""


class LocalQueueFlavorUsage(Struct):
    """What of one flavor is in use."""

    name: Name
    """The flavor."""
    resources: Annotated[list[LocalQueueResourceUsage], Meta(max_length=16)]
    """Its resources."""


class LocalQueueAdmissionFairSharingStatus(Struct):
    """What was used over time."""

    consumed_resources: Quantities
    """Use of resources over time; older use counts less."""
    last_update: Time
    """When it was updated."""


class LocalQueueFairSharingStatus(FairSharingStatus):
    """Where sharing stands."""

    admission_fair_sharing_status: LocalQueueAdmissionFairSharingStatus | None = None
    """Use over time, if it is counted."""


class LocalQueueStatus(Defaulting):
    """What is in use, and what waits."""

    conditions: Conditions | None = None
    """Active: whether workloads can be admitted, and why not."""
    pending_workloads: OrDefault[Int32] = 0
    """Workloads that wait."""
    reserving_workloads: OrDefault[Int32] = 0
    """Workloads that have reserved quota and are not finished."""
    admitted_workloads: OrDefault[Int32] = 0
    """Workloads that are admitted and not finished."""
    flavors_reservation: Annotated[list[LocalQueueFlavorUsage], Meta(max_length=16)] | None = None
    """The quota that workloads have reserved."""
    flavors_usage: Annotated[list[LocalQueueFlavorUsage], Meta(max_length=16)] | None = None
    """The quota that admitted workloads use."""
    fair_sharing: LocalQueueFairSharingStatus | None = None
    """Where fair sharing stands."""
