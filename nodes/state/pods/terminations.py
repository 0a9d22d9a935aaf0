"""When pods that terminate should be gone, and how long each pod may take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from api.core import Pod

__all__ = ["Terminations"]

DEFAULT_GRACE: Final = 30
"""Seconds that a pod has to end if its spec does not say."""


class Terminations:
    """By row of the table of pods. Nothing is kept of a pod that lives and has the default grace period."""

    def __init__(self) -> None:
        self._graces: dict[int, int] = {}
        self._deletions: dict[int, float] = {}
        """Seconds since the epoch."""
        self._overdue = float("-inf")
        """A pod is overdue if it should have been gone by then."""

    def __len__(self) -> int:
        """Pods that terminate."""
        return len(self._deletions)

    def note(self, row: int, pod: Pod, deletion: float | None) -> None:
        """Keep what the pod says. `deletion`: when it should be gone, if it is bound and terminates."""
        seconds = pod.spec.termination_grace_period_seconds
        if seconds is None or seconds == DEFAULT_GRACE:
            self._graces.pop(row, None)
        else:
            self._graces[row] = seconds
        if deletion is None:
            self._deletions.pop(row, None)
        else:
            self._deletions[row] = deletion

    def forget(self, row: int) -> None:
        """The pod in this row is gone."""
        self._graces.pop(row, None)
        self._deletions.pop(row, None)

    def grace(self, row: int) -> int:
        """Seconds that the pod has to end."""
        return self._graces.get(row, DEFAULT_GRACE)

    def is_overdue(self, deletion: float | None) -> bool:
        """Whether a pod that should be gone at this time should be gone by now."""
        return deletion is not None and deletion <= self._overdue

    def tell_time(self, overdue: float) -> Iterator[tuple[int, bool]]:
        """Pods that should be gone by `overdue` are overdue now. Yields each terminating row, and if it is."""
        self._overdue = overdue
        for row, deletion in self._deletions.items():
            yield row, self.is_overdue(deletion)
