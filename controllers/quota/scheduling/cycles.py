"""One cycle: the heads of the queues are decided on a snapshot, and those who are held back take nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from api.workloads import Workload
from controllers.quota.scheduling.held_back import cycle_without
from controllers.quota.scheduling.preemptions import Preemptions
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.cycle.pending import PendingQueues
from quota.search.decision import Options
from quota.state.snapshot import QuotaSnapshot
from quota.state.workloads import key_of
from runtime.mirror.watched_quota import WatchedQuota
from runtime.work.search_thread import SearchThread

__all__ = ["Cycles", "Decided"]


class Decided(NamedTuple):
    """What a cycle said."""

    entries: Sequence[Entry]
    snapshot: QuotaSnapshot
    """On which it was decided."""


class Cycles:
    """The cycles of one term. Each runs on the search thread."""

    def __init__(
        self,
        quota: WatchedQuota,
        pending: PendingQueues,
        preemptions: Preemptions,
        is_busy: Callable[[str], bool],
        search: SearchThread[Options],
        now: Callable[[], int],
    ) -> None:
        """`is_busy`: whether a Workload (key) is being written. `now`: in microseconds since 1970."""
        self._quota, self._pending, self._preemptions = quota, pending, preemptions
        self._is_busy, self._search, self._now = is_busy, search, now

    async def next(self) -> Decided | None:
        """Decide the heads that wait for nothing else. None if there are none."""
        now = self._now()
        heads = [each for each in self._pending.heads(now) if self._is_free(key_of(each))]
        if not heads:
            return None
        snapshot = self._quota.state.snapshot()
        entries = await cycle_without(
            heads,
            partial(self._decide, snapshot, now),
            lambda entry: self._preemptions.held_back(entry, snapshot),
        )
        return Decided(entries, snapshot)

    async def _decide(self, snapshot: QuotaSnapshot, now: int, heads: Sequence[Workload]) -> list[Entry]:
        work = partial(
            cycle,
            snapshot,
            heads,
            now,
            namespaces=dict(self._quota.namespaces),
            tried=dict(self._pending.tried),
            promises=self._preemptions.promises(),
            preferred=self._preemptions.preferred,
        )
        return await self._search.run(work)

    def _is_free(self, key: str) -> bool:
        return not (self._is_busy(key) or self._preemptions.waits(key))
