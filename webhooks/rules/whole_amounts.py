"""Extended resources are counted in whole numbers: an API server refuses pods with parts of them (our own rule).

Kueue takes the quota and the Workload, and rounds up. Then nothing is wrong until the pods are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from api.quantity import Quantity
from api.requests import is_extended
from api.words import shown
from schema.verdict import INVALID, Cause
from webhooks.rules.fields import child, items, text
from webhooks.rules.quantities import quantity
from webhooks.rules.request import Object

__all__ = ["pod_causes", "quota_causes"]


def pod_causes(spec: Object, path: str) -> Iterator[Cause]:
    """The faults in what a pod, its containers and its overhead ask for. `path`: of `spec`."""
    yield from _resources(spec, path)
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(items(spec, field)):
            yield from _resources(container, f"{path}.{field}[{index}]")
    for name, value in child(spec, "overhead").items():
        yield from _whole(name, value, f"{path}.overhead[{name}]")


def quota_causes(spec: Object) -> Iterator[Cause]:
    """The faults in the quotas of a ClusterQueue or Cohort."""
    for index, group in enumerate(items(spec, "resourceGroups")):
        for place, flavor in enumerate(items(group, "flavors")):
            for at, quota in enumerate(items(flavor, "resources")):
                path = f"spec.resourceGroups[{index}].flavors[{place}].resources[{at}]"
                for field in ("nominalQuota", "borrowingLimit", "lendingLimit"):
                    yield from _whole(text(quota, "name"), quota.get(field), f"{path}.{field}")


def _resources(owner: Object, path: str) -> Iterator[Cause]:
    for field in ("requests", "limits"):
        for name, value in child(owner, "resources", field).items():
            yield from _whole(name, value, f"{path}.resources.{field}[{name}]")


def _whole(name: str, value: Any, path: str) -> Iterator[Cause]:
    if not is_extended(name):
        return
    amount = quantity(value)
    if (
        amount is not None
        and amount.exceeds(Quantity(0, 0))
        and Quantity(amount.scaled(0), 0).exceeds(amount)
    ):
        yield Cause(path, INVALID, f"{shown(value)} is no whole number, and {name} is an extended resource")
