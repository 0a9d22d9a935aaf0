"""NodeResourcesFit: the placement kernel models it, on integers. `api.requests` counts what a pod requests."""

from __future__ import annotations

from typing import Any, ClassVar

from api.requests import PODS
from nodes.filters.filter import Filter

__all__ = ["NodeResourcesFit"]


class NodeResourcesFit(Filter[Any]):
    """Needs only the requests of the pod's class.

    It has a place in the order of the filters because a reason names the first filter that fails.
    """

    name: ClassVar[str] = "NodeResourcesFit"

    @staticmethod
    def reason(resource: str) -> str:
        """The scheduler's words for a node with too little of the resource."""
        return "Too many pods" if resource == PODS else f"Insufficient {resource}"
