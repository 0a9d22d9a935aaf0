"""DynamicResources: not modelled."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, ClassVar, Final

from api.core import Pod
from api.devices import DEVICE_CLASS_PREFIX
from nodes.filters.filter import Filter

__all__ = ["CLAIMS", "DynamicResources"]

CLAIMS: Final = "resource claims (DRA)"
"""What is named of a pod that has any."""


class DynamicResources(Filter[Any]):
    """Names resource claims, and extended resources that devices provide on nodes which do not count them."""

    name: ClassVar[str] = "DynamicResources"

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the resource claims of a pod that has any."""
        return (CLAIMS,) if pod.spec.resource_claims else ()

    @staticmethod
    def is_backed(resource: str, by_devices: Collection[str]) -> bool:
        """Whether a DeviceClass backs the extended resource. `by_devices`: those with a name of their own.

        On a node with the resource in its allocatable, NodeResourcesFit counts it. On others the devices decide.
        """
        return resource in by_devices or resource.startswith(DEVICE_CLASS_PREFIX)

    @staticmethod
    def backed(resources: Iterable[str], by_devices: Collection[str]) -> Iterable[str]:
        """Name those of the resources that a DeviceClass backs."""
        found = (each for each in resources if DynamicResources.is_backed(each, by_devices))
        return [f"{each} (DRA extended resource)" for each in found]
