"""NodeResourcesFit: the placement kernel models it, on integers. `api.requests` counts what a pod requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from api.core import Pod
from api.requests import PODS
from nodes.filters.filter import Filter
from nodes.filters.profile import Profile

__all__ = ["NodeResourcesFit"]


DISABLED: Final = "NodeResourcesFit is disabled"


class NodeResourcesFit(Filter[Any]):
    """Needs only the requests of the pod's class.

    It has a place in the order of the filters because a reason names the first filter that fails.
    """

    name: ClassVar[str] = "NodeResourcesFit"
    stricter: ClassVar[frozenset[str]] = frozenset({DISABLED})

    def unmodelled_in(self, profile: Profile, pod: Pod) -> Iterable[str]:
        """Name a profile without the filter: the kernel always counts."""
        return (DISABLED,) if self.name in profile.off else ()

    @staticmethod
    def reason(resource: str) -> str:
        """The scheduler's words for a node with too little of the resource."""
        return "Too many pods" if resource == PODS else f"Insufficient {resource}"
