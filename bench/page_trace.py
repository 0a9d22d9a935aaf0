"""What Chromium's trace says of the main thread of a page. Pure.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Trace Event Format).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

__all__ = ["CATEGORIES", "Tasks"]

CATEGORIES: Final = ("devtools.timeline", "disabled-by-default-devtools.timeline")
TASK: Final = "RunTask"
FRAME: Final = "FireAnimationFrame"


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of one thread, in their order."""

    begins: Sequence[float]
    """In milliseconds of the trace."""
    lengths: Sequence[float]
    """In milliseconds of the thread's own time: it does not work while it waits for a core that others have."""
    spans: Sequence[float]
    """In milliseconds by the clock."""
    frames: Sequence[float]
    """When the callbacks of frames were called, in milliseconds of the trace."""

    @classmethod
    def of(cls, events: Sequence[dict[str, Any]]) -> Self:
        """Of the thread that draws most frames. Raises ValueError if none does."""
        drawn = Counter((each["pid"], each["tid"]) for each in events if each["name"] == FRAME)
        if not drawn:
            raise ValueError("no thread of the trace draws frames")
        thread = drawn.most_common(1)[0][0]
        own = [each for each in events if (each["pid"], each["tid"]) == thread]
        tasks = sorted(
            (each["ts"], each.get("tdur", 0), each.get("dur", 0)) for each in own if each["name"] == TASK
        )
        frames = sorted({each["ts"] for each in own if each["name"] == FRAME})
        return cls(
            [begin / 1000 for begin, _, _ in tasks],
            [length / 1000 for _, length, _ in tasks],
            [span / 1000 for _, _, span in tasks],
            [at / 1000 for at in frames],
        )

    @property
    def longest(self) -> float:
        """In milliseconds."""
        return max(self.lengths, default=0.0)

    @property
    def longest_span(self) -> float:
        """In milliseconds by the clock."""
        return max(self.spans, default=0.0)

    @property
    def whole(self) -> float:
        """Of all tasks together, in milliseconds."""
        return sum(self.lengths)

    def by_frame(self) -> list[float]:
        """For each frame: how long the thread worked from its first task to that of the next frame, in milliseconds.

        Several callbacks in one task are of one frame.
        """
        firsts = sorted({bisect_right(self.begins, at) - 1 for at in self.frames} - {-1})
        return [sum(self.lengths[first:last]) for first, last in pairwise(firsts)]
