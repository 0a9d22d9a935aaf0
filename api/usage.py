"""The status that Kueue's controllers write to ClusterQueue, Cohort and LocalQueue."""

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
    """The current share in fair sharing."""

    weighted_share: int
    """The share in thousandths, divided by the weight. For each resource the share is usage beyond nominal quota,
    divided by what the cohort can lend. The highest one counts. 9223372036854775807 for weight zero that borrows."""


class ResourceUsage(Struct):
    """The usage of one resource."""

    name: str
    """The resource."""
    total: Quantity | None = None
    """The used amount, including the borrowed amount."""
    borrowed: Quantity | None = None
    """The used amount beyond nominalQuota."""


class FlavorUsage(Struct):
    """The usage of one flavor."""

    name: Name
    """The flavor."""
    resources: Annotated[list[ResourceUsage], Meta(max_length=64)]
    """Its resources."""


class ClusterQueueStatus(Defaulting):
    """The used quota, and the numbers of workloads."""

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
    """The current share, if fair sharing is on."""


class CohortStatus(Struct):
    """The status of the cohort."""

    fair_sharing: FairSharingStatus | None = None
    """The current share, if fair sharing is on."""


class LocalQueueResourceUsage(Struct):
    """The usage of one resource."""

    name: str
    """The resource."""
    total: Quantity | None = None
    """The used amount."""


class LocalQueueFlavorUsage(Struct):
    """The usage of one flavor."""

    name: Name
    """The flavor."""
    resources: Annotated[list[LocalQueueResourceUsage], Meta(max_length=16)]
    """Its resources."""


class LocalQueueAdmissionFairSharingStatus(Struct):
    """The usage over time."""

    consumed_resources: Quantities
    """The usage of resources over time. Older usage counts less."""
    last_update: Time
    """When the usage was updated."""


class LocalQueueFairSharingStatus(FairSharingStatus):
    """The current share in fair sharing."""

    admission_fair_sharing_status: LocalQueueAdmissionFairSharingStatus | None = None
    """The usage over time, if it is counted."""


class LocalQueueStatus(Defaulting):
    """The used quota, and the numbers of workloads."""

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
    """The current share in fair sharing."""
