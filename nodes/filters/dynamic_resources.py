"""DynamicResources: not modelled."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, ClassVar

from api.core import Pod
from api.devices import DEVICE_CLASS_PREFIX
from nodes.filters.filter import Filter

__all__ = ["DynamicResources"]


class DynamicResources(Filter[Any]):
    """Names resource claims, and extended resources that devices provide on nodes which do not count them."""

    name: ClassVar[str] = "DynamicResources"

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the resource claims of a pod that has any."""
        return ("resource claims (DRA)",) if pod.spec.resource_claims else ()

    @staticmethod
    def backed(resources: Iterable[str], by_devices: Collection[str]) -> Iterable[str]:
        """Name the extended resources that a DeviceClass backs. `by_devices`: those with a name of their own.

        On a node with the resource in its allocatable, NodeResourcesFit counts it. On others the devices decide.
        """
        found = (each for each in resources if each in by_devices or each.startswith(DEVICE_CLASS_PREFIX))
        return [f"{each} (DRA extended resource)" for each in found]
