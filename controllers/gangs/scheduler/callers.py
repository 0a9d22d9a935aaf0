"""Which schedulers have asked us about pods, in one term."""

from __future__ import annotations

from api.core import Pod
from nodes.filters.profile import DEFAULT_SCHEDULER

__all__ = ["Callers"]


class Callers:
    """Their names. A pod without a schedulerName has the default scheduler."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def called(self, pod: Pod) -> bool:
        """A scheduler asked us about a pod of any kind. Returns whether it is the first time."""
        name = pod.spec.scheduler_name or DEFAULT_SCHEDULER
        is_new = name not in self._names
        self._names.add(name)
        return is_new

    def has_called(self, scheduler: str) -> bool:
        """Whether the scheduler of this name has asked us about any pod."""
        return (scheduler or DEFAULT_SCHEDULER) in self._names
