"""When a gang that could not be placed is planned again: on change, and the less often the more changes are in vain."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Backoff"]


@dataclass(slots=True)
class Backoff:
    """Delays of `initial` seconds doubling to `maximum`; one quiet delay starts over. Times are monotonic."""

    initial: float
    maximum: float
    delay: float = 0.0
    due: float = 0.0

    def failed(self, now: float, *, again: bool = False) -> None:
        """A plan was in vain: wait longer if it was made as soon as the last delay let it, else start over.

        `again`: wait longer however long the plan took.
        """
        in_a_row = self.delay > 0 and (again or now < self.due + self.delay)
        self.delay = min(self.maximum, self.delay * 2) if in_a_row else self.initial
        self.due = now + self.delay

    def reset(self) -> None:
        """The next plan may be made at once."""
        self.delay = self.due = 0.0
