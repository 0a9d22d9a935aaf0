"""NodeResourcesFit: the placement kernel itself, on integers. `api.requests` counts what a pod requests."""

from __future__ import annotations

from typing import Any, ClassVar

from api.requests import PODS
from nodes.filters.filter import Filter

__all__ = ["NodeResourcesFit"]


class NodeResourcesFit(Filter[Any]):
    """Needs nothing beside the class's requests.

    It has a place among the filters because the first filter that fails is the one that is named.
    """

    name: ClassVar[str] = "NodeResourcesFit"

    @staticmethod
    def reason(resource: str) -> str:
        """Why a node with too little of the resource is refused."""
        return "Too many pods" if resource == PODS else f"Insufficient {resource}"
