"""What decides about the requests of pods besides the pods: LimitRange (core/v1) and RuntimeClass (node.k8s.io/v1)."""

from __future__ import annotations

import msgspec

from api.core import Quantities, Toleration
from api.meta import ObjectMeta, Struct

__all__ = ["LimitRange", "LimitRangeItem", "LimitRangeSpec", "Overhead", "RuntimeClass", "Scheduling"]


class LimitRangeItem(Struct):
    """core/v1 LimitRangeItem."""

    type: str
    """Container, Pod, or another kind of object that is not read here."""
    max: Quantities | None = None
    min: Quantities | None = None
    default: Quantities | None = None
    """The limits of a container that has none."""
    default_request: Quantities | None = None
    """The requests of a container that has none."""
    max_limit_request_ratio: Quantities | None = None
    """How many times a limit may be its request."""


class LimitRangeSpec(Struct):
    """core/v1 LimitRangeSpec."""

    limits: list[LimitRangeItem] | None = None


class LimitRange(Struct):
    """core/v1 LimitRange."""

    metadata: ObjectMeta
    spec: LimitRangeSpec = msgspec.field(default_factory=LimitRangeSpec)


class Overhead(Struct):
    """node.k8s.io/v1 Overhead."""

    pod_fixed: Quantities | None = None


class Scheduling(Struct):
    """node.k8s.io/v1 Scheduling: which nodes have the runtime."""

    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class RuntimeClass(Struct):
    """node.k8s.io/v1 RuntimeClass."""

    metadata: ObjectMeta
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None
