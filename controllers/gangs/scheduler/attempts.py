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

__all__ = ["MANY", "WINDOW_SECONDS", "Attempts", "Backoffs", "Estimate"]

WINDOW_SECONDS: Final = 1.0
"""A wait is as much longer at most: the queue looks only once in this time for groups whose wait is over."""
PASSES_AT_MOST: Final = 2
"""Passes of one attempt."""
MANY: Final = 64
"""Attempts after which the wait is the longest one, whatever the scheduler's settings are."""


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
        longest, doublings = self.longest(members), min(attempts, MANY) - 1
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
    """The first attempt came no sooner."""
    missed: int = MANY
    """How many attempts at most were not seen. A process that has just started does not know that."""
    count: int = 0
    """Attempts that were seen."""
    passes: int = 0
    """Passes of the last attempt."""
    called: float = 0.0
    """When its last filter call came."""

    def call(self, at: float) -> Attempts:
        """A filter call for a member came, in the pass that goes on."""
        return replace(self, called=at)

    def begin_pass(self, at: float, members: int, backoffs: Backoffs) -> Attempts:
        """A pass begins: its first filter call came. `members`: how many wait.

        A pass that comes before the wait of the attempt is over belongs to it. If the attempt has both of its passes,
        the scheduler has begun anew, or had a fault: from then on, attempts may have been missed. So it is if the pass
        comes so late that there was time for another attempt.
        """
        is_early = self.count > 0 and at < self.called + backoffs.seconds(self.count, members)
        if is_early and self.passes < PASSES_AT_MOST:
            return replace(self, passes=self.passes + 1, called=at)
        missed = MANY if is_early else max(0, self._unseen(at, members, backoffs) - 1)
        return replace(self, missed=self.missed + missed, count=self.count + 1, passes=1, called=at)

    def succeed(self, at: float) -> Attempts:
        """The scheduler has placed the group. Whoever is left begins anew."""
        return Attempts(at, missed=0)

    def estimate(self, at: float, members: int, backoffs: Backoffs) -> Estimate:
        """When the next attempt begins. `members`: how many wait.

        `at`: from then on every attempt is seen. Filter is not called in an attempt in which no node passes the
        scheduler's own filters, but a plan has nodes that pass them.

        It is exact but for the time that an attempt takes after its last filter call.
        """
        last, most = self._last, self.count + self.missed
        if unseen := self._unseen(at, members, backoffs):
            return Estimate(at + backoffs.seconds(most + unseen, members) + WINDOW_SECONDS, is_known=False)
        least, longest = backoffs.seconds(self.count, members), backoffs.seconds(most, members)
        return Estimate(last + longest + WINDOW_SECONDS, least == longest)

    @property
    def _last(self) -> float:
        return self.called if self.count else self.since

    def _unseen(self, at: float, members: int, backoffs: Backoffs) -> int:
        """How many attempts there may have been between the last one that was seen and that time; MANY at most."""
        due = self._last
        for unseen in range(MANY):
            due += backoffs.seconds(self.count + unseen, members)
            if due >= at:
                return unseen
        return MANY
