"""What the log of kube-scheduler tells of pods, and when."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

__all__ = ["times_of"]


def times_of(pattern: re.Pattern[str], log: Iterable[str], year: int) -> dict[str, list[float]]:
    """Pod (NAMESPACE/NAME) to the times of the lines that the pattern matches, in seconds since the epoch.

    Its first group is the time as klog writes it (MMDD HH:MM:SS.ffffff, local), its second one the pod. `log`: lines.
    """
    found: dict[str, list[float]] = {}
    for line in log:
        if match := pattern.match(line):
            at = datetime.strptime(f"{year}{match[1]}", "%Y%m%d %H:%M:%S.%f").astimezone()
            found.setdefault(match[2], []).append(at.timestamp())
    return found
