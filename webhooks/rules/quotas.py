"""Rules for ClusterQueues and Cohorts: resource groups and the weight (Kueue's rules)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from api.quantity import Quantity
from api.words import shown
from schema.labels import label_key_causes
from schema.verdict import DUPLICATE, INVALID, Cause
from webhooks.rules.fields import child, items, text, texts
from webhooks.rules.quantities import ZERO, is_negative, quantity
from webhooks.rules.request import Object

__all__ = ["Owner", "resource_group_causes", "weight_causes"]

LEAST_WEIGHT: Final = Quantity(1, -9)


@dataclass(frozen=True, slots=True)
class Owner:
    """The kind of object that has the resource groups."""

    parent: str
    """A word for the parent: the owner lends quota to it and borrows quota from it."""
    has_parent: bool
    lends_own: bool
    """Whether it lends a part of its nominal quota. Otherwise it lends what its members do not use."""


def resource_group_causes(spec: Object, owner: Owner) -> Iterator[Cause]:
    """The faults in `spec.resourceGroups`."""
    resources: set[str] = set()
    flavors: set[str] = set()
    for index, group in enumerate(items(spec, "resourceGroups")):
        path = f"spec.resourceGroups[{index}]"
        covered = texts(group, "coveredResources")
        for position, resource in enumerate(covered):
            at = f"{path}.coveredResources[{position}]"
            yield from label_key_causes(resource, at)
            yield from _once(resource, resources, at)
        for position, flavor in enumerate(items(group, "flavors")):
            at = f"{path}.flavors[{position}]"
            yield from _flavor_causes(flavor, covered, owner, at)
            yield from _once(text(flavor, "name"), flavors, f"{at}.name")


def _once(name: str, seen: set[str], path: str) -> Iterator[Cause]:
    if name in seen:
        yield Cause(path, DUPLICATE, f"{shown(name)} is there already; one group only may have it")
    seen.add(name)


def _flavor_causes(flavor: Object, covered: Sequence[str], owner: Owner, path: str) -> Iterator[Cause]:
    # The schema checks that there are as many resources as covered resources.
    for index, (quota, resource) in enumerate(zip(items(flavor, "resources"), covered, strict=False)):
        at = f"{path}.resources[{index}]"
        if (name := text(quota, "name")) != resource:
            message = (
                f"{shown(name)} is not {shown(resource)}: resources come in the order of coveredResources"
            )
            yield Cause(f"{at}.name", INVALID, message)
        yield from _quota_causes(quota, owner, at)


def _quota_causes(quota: Object, owner: Owner, path: str) -> Iterator[Cause]:
    for field in ("nominalQuota", "borrowingLimit", "lendingLimit"):
        value = quota.get(field)
        if value is None:
            continue
        if is_negative(value):
            yield Cause(f"{path}.{field}", INVALID, f"{shown(value)} is negative")
        if not owner.has_parent and field != "nominalQuota":
            message = f"there is no {owner.parent} to lend to or borrow from"
            yield Cause(f"{path}.{field}", INVALID, message)
    limit, nominal = quota.get("lendingLimit"), quota.get("nominalQuota")
    lent = quantity(limit) if owner.lends_own else None
    if lent is not None and lent.exceeds(quantity(nominal) or ZERO):
        message = f"{shown(limit)} is more than nominalQuota, which is {shown(nominal)}"
        yield Cause(f"{path}.lendingLimit", INVALID, message)


def weight_causes(spec: Object) -> Iterator[Cause]:
    """The faults in `spec.fairSharing`."""
    value = child(spec, "fairSharing").get("weight")
    weight = quantity(value)
    if weight is None:
        return
    if ZERO.exceeds(weight):
        yield Cause("spec.fairSharing", INVALID, f"weight {shown(value)} is negative")
    elif weight.exceeds(ZERO) and not weight.exceeds(LEAST_WEIGHT):
        yield Cause("spec.fairSharing", INVALID, f"weight {shown(value)} is neither 0 nor above 1n")
