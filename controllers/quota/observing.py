"""`quota.mode: Observe`: beside a Kueue that manages, our decisions are compared with its writes. Nothing is written.

See docs/decisions/0047.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from api.clock import Clock
from api.workloads import Admission, Workload
from controllers.quota.comparing import (
    Before,
    Written,
    admission_written,
    compare,
    is_comparable,
    preemptor_written,
)
from controllers.quota.metrics import OBSERVED, export_observed
from kube.client import ApiClient
from quota.cycle.queues import is_queued
from quota.search.decision import Options
from quota.state.amounts import QuotaError
from quota.state.workloads import (
    has_closed_preemption_gate,
    holds_quota,
    is_evicting,
    key_of,
    local_queue_key,
)
from runtime.exchange.agreements import Agreements, Agrees
from runtime.mirror.freshness import catch_up
from runtime.mirror.readiness import not_synced
from runtime.mirror.views import Views
from runtime.mirror.watched_quota import WatchedQuota
from runtime.terms.term import Term
from runtime.work.search_thread import SearchThread
from serving.ops import Check

__all__ = ["Observing", "QuotaObserver"]

log = structlog.get_logger(__name__)

REST_SECONDS: Final = 1.0
"""What changed within this time of a write may have changed after the decision, or be part of it."""
CATCH_UP_SECONDS: Final = 3.0
"""The least time between two questions for the API server's newest state."""
MOST_OPEN: Final = 64
"""Decisions that are compared at a time. Each of them has a snapshot."""
ALL_TREES: Final = ""


class QuotaObserver:
    """Follows queues and Workloads in every process, and compares while it leads. See `Controller`."""

    name: Final = "quota"

    def __init__(
        self,
        search: SearchThread[Options],
        client: ApiClient,
        views: Views,
        clock: Clock,
        agreements: Agreements | None = None,
    ) -> None:
        """`agreements`: who hears of each decision that is compared."""
        export_observed()
        self._agreements = agreements or Agreements()
        self._search, self._client, self._clock = search, client, clock
        self._quota = WatchedQuota(views)
        self._not_synced = not_synced(self._quota.views)
        self._leading: Observing | None = None
        self._quota.before_workload(self._about_to_change)
        self._quota.on_workload(self._workload_changed)
        self._quota.on_object(self._object_changed)

    def checks(self) -> Mapping[str, Check]:
        """See `runtime.terms.controller.Controller`."""
        return {"quota-synced": self._not_synced}

    async def lead(self, term: Term) -> None:
        """See `runtime.terms.controller.Controller`. One process compares, so each decision is counted once."""
        del term  # nothing is written
        await self._quota.wait_synced()
        leading = self._leading = Observing(
            self._quota, self._search, self._clock, self._catch_up, agreements=self._agreements
        )
        log.info("decisions of others are compared")
        try:
            await leading.run()
        finally:
            self._leading = None

    async def _catch_up(self) -> None:
        await catch_up(self._client, self._quota.views, self._clock.monotonic(), self._clock)

    def _about_to_change(self, key: str, after: Workload) -> None:
        if self._leading is not None:
            self._leading.about_to_change(key, after)

    def _workload_changed(self, key: str, before: Workload | None, after: Workload | None) -> None:
        if self._leading is not None:
            self._leading.workload_changed(key, before, after)

    def _object_changed(self, kind: str, key: str) -> None:
        del kind, key
        if self._leading is not None:
            self._leading.object_changed()


@dataclass(slots=True, eq=False)
class _Case:
    """One decision of somebody else: an admission, or a preemption with one write for each victim."""

    key: str
    """The Workload that was admitted, or for which others were preempted; "" if it is not known."""
    tree: str
    before: Before | None
    """None: the state before cannot be reconstructed."""
    last: float
    """When its last write was seen, in monotonic seconds."""
    moved: bool
    """Whether Kueue may have decided on another state: something else of the tree changed near its writes, or we cannot
    read all objects."""
    admission: Admission | None = None
    victims: set[str] = field(default_factory=set)

    def has(self, key: str) -> bool:
        """Whether changes of this Workload belong to the decision."""
        return key == self.key or key in self.victims


class Observing:
    """The comparisons of one term."""

    def __init__(
        self,
        quota: WatchedQuota,
        search: SearchThread[Options],
        clock: Clock,
        catch_up: Callable[[], Awaitable[None]],
        rest: float = REST_SECONDS,
        agreements: Agreements | None = None,
    ) -> None:
        """`catch_up` waits until the views are as new as the API server. `rest`: see REST_SECONDS."""
        self._quota, self._search, self._clock = quota, search, clock
        self._catch_up, self._rest = catch_up, rest
        self._agreements = agreements or Agreements()
        self._catching_up = asyncio.Lock()
        self._caught_up = float("-inf")
        """When the last successful `catch_up` began, in monotonic seconds."""
        self._new: asyncio.Queue[_Case] = asyncio.Queue()
        self._open: set[_Case] = set()
        self._preemptions: dict[str, _Case] = {}
        """Those whose victims are still gathered, by the preemptor's UID."""
        self._moves: deque[tuple[float, str, str]] = deque()
        """Changes of the last REST_SECONDS: time, tree, and the Workload's key."""
        self._structure = quota.state.structure

    async def run(self) -> None:
        """Compare until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self._conclude(await self._new.get()), name="a decision is compared")

    # ---- what happens

    def about_to_change(self, key: str, after: Workload) -> None:
        """A newer state of a Workload was seen. What is known is still the state before."""
        if self._quota.workloads.is_listing:
            self._moved(ALL_TREES, "")  # writes may have been missed
        before = self._quota.state.workloads.get(key)
        if before is None or before.metadata.uid != after.metadata.uid:
            return
        admission = admission_written(before, after)
        if admission is not None:
            self._begin(key, before).admission = admission
            return
        uid = preemptor_written(before, after)
        if uid is not None:
            case = self._preemptions.get(uid) or self._begin_preemption(uid, before)
            case.victims.add(key)
            case.last = self._clock.monotonic()

    def workload_changed(self, key: str, before: Workload | None, after: Workload | None) -> None:
        """See `runtime.mirror.watched_quota.WorkloadHook`."""
        if _signature(before) == _signature(after):
            return
        of_a_decision = before is None or after is None or before.spec == after.spec
        for tree in {self._tree(each) for each in (before, after) if each is not None}:
            self._moved(tree, key if of_a_decision else "")

    def object_changed(self) -> None:
        """A queue, a flavor, a cohort, a check or a namespace came, changed or went."""
        if self._quota.state.structure != self._structure:
            self._structure = self._quota.state.structure
            self._moved(ALL_TREES, "")

    def _moved(self, tree: str, key: str) -> None:
        now = self._clock.monotonic()
        if self._moves and self._moves[-1][1:] == (tree, key):
            self._moves.pop()
        self._moves.append((now, tree, key))
        while self._moves[0][0] < now - self._rest:
            self._moves.popleft()
        for case in self._open:
            case.moved |= _concerns(tree, case.tree) and not case.has(key)

    # ---- cases

    def _begin_preemption(self, uid: str, victim: Workload) -> _Case:
        preemptor = self._by_uid(uid)
        key = key_of(preemptor) if preemptor is not None else ""
        case = self._preemptions[uid] = self._begin(key, preemptor, self._tree(victim))
        return case

    def _begin(self, key: str, waiting: Workload | None, tree: str | None = None) -> _Case:
        now = self._clock.monotonic()
        tree = self._tree(waiting) if tree is None and waiting is not None else tree or ALL_TREES
        case = _Case(key, tree, self._before(waiting), now, moved=False)
        case.moved = any(view.unread for view in self._quota.views) or any(
            time >= now - self._rest and _concerns(where, tree) and not case.has(who)
            for time, where, who in self._moves
        )
        self._open.add(case)
        self._new.put_nowait(case)
        return case

    def _before(self, waiting: Workload | None) -> Before | None:
        """The present state; None if it is not the state directly before, or cannot be decided about."""
        is_listing = self._quota.workloads.is_listing  # several writes may have become one state
        if waiting is None or is_listing or len(self._open) >= MOST_OPEN or not is_comparable(waiting):
            return None
        state = self._quota.state
        try:
            snapshot = state.snapshot()
        except QuotaError:
            return None
        now = round(self._clock.wall() * 1_000_000)
        return Before(snapshot, waiting, tuple(state.workloads.values()), now, dict(self._quota.namespaces))

    def _by_uid(self, uid: str) -> Workload | None:
        return next((each for each in self._quota.state.workloads.values() if each.metadata.uid == uid), None)

    def _tree(self, workload: Workload) -> str:
        """The root of the Workload's ClusterQueue; ALL_TREES if it is not known."""
        state, admission = self._quota.state, workload.status.admission
        local = state.local_queues.get(local_queue_key(workload))
        if admission is not None:
            name = admission.cluster_queue
        else:
            name = local.spec.cluster_queue if local is not None else ""
        try:
            return state.tree(name) if name in state.cluster_queues else ALL_TREES
        except QuotaError:
            return ALL_TREES

    # ---- conclusions

    async def _conclude(self, case: _Case) -> None:
        agrees: Agrees = "unknown"
        try:
            agrees = await self._compare(case)
        except Exception:
            log.exception("a decision cannot be compared", workload=case.key)
        finally:
            self._open.discard(case)
        OBSERVED.labels(agrees).inc()
        self._agreements.compared(case.key.rpartition("/")[0], agrees)

    async def _compare(self, case: _Case) -> Agrees:
        if case.admission is None:
            await self._until_rest(case)  # the writes of its victims come one by one
            self._preemptions = {uid: each for uid, each in self._preemptions.items() if each is not case}
        if case.before is None:
            return "unknown"
        written = Written(case.admission, frozenset(case.victims))
        found = await self._search.run(partial(compare, case.before, written))
        if found.agrees:
            return "true"
        await self._until_rest(case)
        if found.agrees is not None and not case.moved:
            await self._seen_all(self._clock.monotonic())
        if found.agrees is None or case.moved:
            return "unknown"
        log.info("a decision is not ours", workload=case.key, theirs=_in_words(written), ours=found.ours)
        return "false"

    async def _until_rest(self, case: _Case) -> None:
        """Wait until nothing more can have been near its writes."""
        left = self._rest
        while left > 0:
            await asyncio.sleep(left)
            left = case.last + self._rest - self._clock.monotonic()

    async def _seen_all(self, until: float) -> None:
        """Wait until everything up to this time has been seen, also by the views of other kinds."""
        async with self._catching_up:
            if self._caught_up >= until:
                return
            await asyncio.sleep(self._caught_up + CATCH_UP_SECONDS - self._clock.monotonic())
            began = self._clock.monotonic()
            await self._catch_up()
            self._caught_up = began


def _concerns(tree: str, other: str) -> bool:
    return ALL_TREES in (tree, other) or tree == other


def _signature(workload: Workload | None) -> object:
    """The parts of a Workload that decisions about others, or about itself, depend on."""
    if workload is None:
        return None
    return (
        workload.metadata.uid,
        workload.spec,
        workload.status.admission,
        workload.status.reclaimable_pods,
        holds_quota(workload),
        is_evicting(workload),
        is_queued(workload),
        has_closed_preemption_gate(workload),
    )


def _in_words(written: Written) -> str:
    if written.admission is None:
        return f"Preempt {sorted(written.victims)}"
    given = {each.name: each.flavors for each in written.admission.pod_set_assignments or ()}
    return f"Admit {given} in {written.admission.cluster_queue}"
