"""Room that kube-scheduler keeps for pods that are gone.

A member of a native gang that is deleted while the scheduler places it may stay in Permit until that times out, after
five minutes (seen with 1.37.2). The scheduler counts its requests on its node until then, and no object shows that. Its
log tells the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.kit.stress.history import LAG_SECONDS, History, name_of
from tests.kit.stress.scheduler_log import times_of

__all__ = ["KeptRoom", "kept_room", "worked_on"]

GONE: Final = re.compile(
    r'^I(\d{4} \d\d:\d\d:\d\d\.\d+) .*"Pod doesn\'t exist in informer cache" .*\bpod="([^"]+)"'
)


@dataclass(frozen=True, slots=True)
class KeptRoom:
    """The scheduler counts a pod that is gone. Times are seconds since the epoch."""

    pod: str
    """NAMESPACE/NAME."""
    node: str
    since: float
    until: float

    def concerns(self, node: str, at: float) -> bool:
        """Whether the scheduler may have found less room on the node then than there was."""
        return node == self.node and self.since - LAG_SECONDS <= at <= self.until + LAG_SECONDS


def worked_on(log: Iterable[str], year: int) -> dict[str, list[float]]:
    """When kube-scheduler ended its work on a pod that was gone: pod (NAMESPACE/NAME) to times, in seconds since the
    epoch. `log`: its lines, with local times."""
    return times_of(GONE, log, year)


def kept_room(history: History, ended: Mapping[str, Sequence[float]]) -> list[KeptRoom]:
    """Room of pods that were gone, and never bound, before the scheduler ended its work on them. `ended`: see
    `worked_on`."""
    found = []
    for states in history.states["Pod"].values():
        last = states[-1]
        name, node = name_of(last.body), last.body.get("status", {}).get("nominatedNodeName", "")
        if not last.gone or not node or last.body["spec"].get("nodeName"):
            continue
        until = max((at for at in ended.get(name, ()) if at > last.at), default=None)
        if until is not None:
            found.append(KeptRoom(name, node, last.at, until))
    return found
