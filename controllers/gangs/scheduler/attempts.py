"""When kube-scheduler tries a pod group of its own kind again: an estimate from the attempts that were seen.

A group that was turned down waits `podInitialBackoffSeconds`, then twice as long, and so on, up to
`podMaxBackoffSeconds` times the square root of its members. Nothing else brings it sooner. Only a success begins anew.
Waits end with whole seconds. Upstream: `calculateBackoffDuration` and `isEntityBackingoff` (backoff_queue.go),
`AddAttemptedPodGroupIfNeeded` (scheduling_queue.go), as of 1.37.1.

Pure. An attempt has two passes at most, a real and a simulated one, and a pass is seen from its first filter call on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from nodes.search.preemptors.trying import longest_wait

__all__ = ["WINDOW_SECONDS", "Attempts", "Backoffs", "Estimate"]

WINDOW_SECONDS: Final = 1.0
"""A wait is as much longer at most: the queue looks only once in this time for groups whose wait is over."""
PASSES_AT_MOST: Final = 2
"""Passes of one attempt."""


@dataclass(frozen=True, slots=True)
class Backoffs:
    """How long the scheduler lets pods and groups wait that it has turned down. In seconds."""

    first: float = 1.0
    """podInitialBackoffSeconds."""
    last: float = 10.0
    """podMaxBackoffSeconds. A group with several members may wait longer."""

    def longest(self, members: int) -> float:
        """The longest wait of a group with this number of waiting members, in seconds."""
        return longest_wait(self.last, members)

    def seconds(self, attempts: int, members: int) -> float:
        """The wait after this number of attempts in vain. 0 if there was none."""
        if attempts < 1:
            return 0.0
        longest, doublings = self.longest(members), attempts - 1
        return longest if self.first > longest / 2.0**doublings else self.first * 2.0**doublings


@dataclass(frozen=True, slots=True)
class Estimate:
    """When the next attempt begins. The attempts of others may put it off."""

    latest: float
    """In monotonic seconds."""
    is_known: bool
    """Every attempt was seen, and the next one comes at most WINDOW_SECONDS before. Otherwise `latest` is an upper
    bound, and the attempt may come much sooner."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts on one group since the scheduler last began anew. Times are monotonic seconds."""

    since: float
    """Since when the group is watched."""
    all_seen: bool = False
    """There was no attempt before. A process that has just started does not know that."""
    count: int = 0
    """Attempts that were seen."""
    passes: int = 0
    """Passes of the last attempt."""
    began: float = 0.0
    """When its last pass began."""
    called: float = 0.0
    """When its last filter call came."""
    wait: float = 0.0
    """The wait after it, if no attempt was missed."""

    def call(self, at: float) -> Attempts:
        """A filter call for a member came, in the pass that goes on."""
        return replace(self, called=at)

    def begin_pass(self, at: float, members: int, backoffs: Backoffs) -> Attempts:
        """A pass begins: its first filter call came. `members`: how many wait.

        A pass that comes before the wait of the attempt is over belongs to it. If the attempt has both of its passes,
        the scheduler has begun anew, or had a fault: from then on, attempts may have been missed.
        """
        is_early = self.count > 0 and at < self.called + self.wait
        if is_early and self.passes < PASSES_AT_MOST:
            return replace(self, passes=self.passes + 1, began=at, called=at)
        count = self.count + 1
        return Attempts(
            since=self.since,
            all_seen=self.all_seen and not is_early,
            count=count,
            passes=1,
            began=at,
            called=at,
            wait=backoffs.seconds(count, members),
        )

    def succeed(self, at: float) -> Attempts:
        """The scheduler has placed the group. Whoever is left begins anew."""
        return Attempts(at, all_seen=True)

    def estimate(self, members: int, backoffs: Backoffs) -> Estimate:
        """When the next attempt begins. `members`: how many wait.

        It is exact but for the time that an attempt takes after its last pass has begun.
        """
        last = self.called if self.count else self.since
        least, most = backoffs.seconds(self.count, members), backoffs.longest(members)
        is_known = self.all_seen or least == most
        return Estimate(last + (least if is_known else most) + WINDOW_SECONDS, is_known)
