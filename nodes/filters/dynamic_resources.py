"""DynamicResources: not modelled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from api.core import Pod
from nodes.filters.filter import Filter

__all__ = ["DynamicResources"]


class DynamicResources(Filter[Any]):
    """Names resource claims. It does not see extended resources that DRA backs."""

    name: ClassVar[str] = "DynamicResources"

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the resource claims of a pod that has any."""
        return ("resource claims (DRA)",) if pod.spec.resource_claims else ()
