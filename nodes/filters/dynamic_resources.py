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
    def backed(resources: Iterable[str], by_devices: Collection[str]) -> Iterable[str]:
        """Name the extended resources that a DeviceClass backs. `by_devices`: those with a name of their own.

        On a node with the resource in its allocatable, NodeResourcesFit counts it. On others the devices decide.
        """
        found = (each for each in resources if DynamicResources.provides(each, by_devices))
        return [f"{each} (DRA extended resource)" for each in found]

    @staticmethod
    def provides(resource: str, by_devices: Collection[str]) -> bool:
        """Whether devices may provide the resource: a DeviceClass backs it. `by_devices` as in `backed`."""
        return resource in by_devices or resource.startswith(DEVICE_CLASS_PREFIX)
