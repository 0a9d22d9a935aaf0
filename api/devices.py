"""resource.k8s.io/v1, as far as reprieve reads it: which extended resources devices can provide (KEP-5004)."""

from __future__ import annotations

from typing import Final

import msgspec

from api.meta import ObjectMeta, Struct

__all__ = ["DEVICE_CLASS_PREFIX", "DeviceClass"]

DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""Before the name of a DeviceClass: an extended resource that every DeviceClass has."""


class DeviceClassSpec(Struct):
    """resource.k8s.io/v1 DeviceClassSpec."""

    extended_resource_name: str | None = None


class DeviceClass(Struct):
    """resource.k8s.io/v1 DeviceClass."""

    metadata: ObjectMeta
    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)
