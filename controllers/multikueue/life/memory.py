"""What a process remembers of a Workload between two decisions.

Nothing here is needed after a restart: what was seen is seen again, and a refused request is refused again. What must
outlive a process stands in objects: the attempt, the chosen cluster, the turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from runtime.exchange.dispatch_reports import CheckReport

__all__ = ["EMPTY", "Memory", "Out", "Remade"]

FIRST_SECONDS = 1
MOST_SECONDS = 300
QUICK = 60_000_000
"""A Workload that comes back from a cluster within this time waits longer each time, in microseconds."""
REMADE_MOST = 60
SHUNNED = 600_000_000
"""For how long a cluster that changes the Job is out, in microseconds."""
CHANGES_JOBS = "OutOfSync"


@dataclass(frozen=True, slots=True)
class Out:
    """Why a cluster is out for the attempt."""

    reason: str
    """A word, such as AlreadyExists."""
    message: str


@dataclass(frozen=True, slots=True)
class Remade:
    """How often a copy was made anew in the attempt, and when the next one may be made."""

    times: int = 0
    not_before: int = 0
    uid: str = ""
    """Of the last copy that was taken away."""

    def once_more(self, uid: str, now: int) -> Remade:
        """The copy of this UID was evicted or changed before its cluster was chosen. Waits grow from a second to a
        minute. Each copy counts once, however often it is looked at."""
        if uid == self.uid:
            return self
        seconds = min(2**self.times, REMADE_MOST)
        return Remade(min(self.times + 1, 10), now + seconds * 1_000_000, uid)


@dataclass(frozen=True, slots=True)
class Memory:
    """Of one Workload (UID). All but `returns` and `shunned` is about one attempt. Times are microseconds since
    1970."""

    uid: str = ""
    attempt: str = ""
    out: Mapping[str, Out] = field(default_factory=dict)
    """By cluster."""
    failing: Mapping[str, str] = field(default_factory=dict)
    """By cluster: what the last attempt to make something there came to. The next one is on its way."""
    admitted: Mapping[str, int] = field(default_factory=dict)
    """By cluster: when its copy was first seen Admitted."""
    signals: Mapping[str, int] = field(default_factory=dict)
    """By cluster: since when it has been a candidate for a turn."""
    tried: frozenset[str] = frozenset()
    """Clusters that would take the Job."""
    read: str = ""
    """The version of the chosen cluster's Job that was read last, beside the watch."""
    remade: Mapping[str, Remade] = field(default_factory=dict)
    spent: int = 0
    """The number of the last turn in which the copy was evicted."""
    verdict: CheckReport | None = None
    """Retry or Rejected, once it is said: it holds for the attempt."""
    said: CheckReport | None = None
    """The last report that waits, and what kinds of lines it has."""
    said_kinds: tuple[str, ...] = ()
    said_at: int = 0
    returns: int = 0
    """How often in a row it came back from a cluster quickly."""
    shunned: Mapping[str, int] = field(default_factory=dict)
    """By cluster: until when it is out, because its quota controller did not take the Job for that of the copy."""

    def about(self, uid: str, attempt: str) -> Memory:
        """What is remembered of this attempt."""
        if (self.uid, self.attempt) == (uid, attempt):
            return self
        if self.uid != uid:
            return Memory(uid, attempt)
        return Memory(uid, attempt, returns=self.returns, shunned=self.shunned)

    def refused(self, cluster: str, reason: str, message: str) -> Memory:
        """The cluster is out for this attempt."""
        return replace(self, out={**self.out, cluster: Out(reason, message)})

    def shuns(self, cluster: str, now: int) -> Memory:
        """The Job was out of sync there before it ever ran. Another cluster may take it."""
        return replace(self, shunned={**self.shunned, cluster: now + SHUNNED})

    def shunning(self, now: int) -> tuple[Memory, int | None]:
        """As it is now, and when the next cluster is tried again."""
        if not self.shunned:
            return self, None
        shunned = {name: until for name, until in self.shunned.items() if until > now}
        why = "its quota controller called the Job out of sync before it ran: something there changes Jobs"
        out = {
            name: each
            for name, each in self.out.items()
            if each.reason != CHANGES_JOBS or name in shunned or name not in self.shunned
        }
        out |= {name: Out(CHANGES_JOBS, why) for name in shunned if name not in out}
        return replace(self, out=out, shunned=shunned), min(shunned.values(), default=None)

    def fails(self, cluster: str, message: str) -> Memory:
        """The last attempt to make something there failed, and another one follows."""
        return replace(self, failing={**self.failing, cluster: message})

    def works(self, cluster: str) -> Memory:
        """What was to be made there was made."""
        return replace(self, failing={name: said for name, said in self.failing.items() if name != cluster})

    def judged(self, verdict: CheckReport) -> Memory:
        """The check is Retry or Rejected from now on."""
        return replace(self, verdict=verdict)

    def has_read(self, version: str) -> Memory:
        """The chosen cluster's Job was read, and has this version."""
        return replace(self, read=version)

    def took(self, cluster: str) -> Memory:
        """The cluster would take the Job."""
        return replace(self, tried=self.tried | {cluster})

    def returned(self, ran: int | None) -> tuple[Memory, int | None]:
        """It comes back from a cluster after `ran` microseconds (None: it was not Ready there yet). The seconds that it
        waits; None: it need not."""
        if ran is not None and ran >= QUICK:
            return replace(self, returns=0), None
        seconds = min(FIRST_SECONDS * 2 ** min(self.returns, 16), MOST_SECONDS)
        return replace(self, returns=self.returns + 1), seconds


EMPTY = Memory()
