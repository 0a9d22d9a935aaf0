"""What must hold at all times of what Workloads and queues went through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from api.kueue import ClusterQueue, Cohort, LocalQueue
from api.plans import PreemptionPlan
from api.workloads import ADMITTED, EVICTED, PREEMPTED, QUOTA_RESERVED, Workload
from controllers.quota.life.evicting import QUOTA_EXCEEDED
from quota.state.workloads import effective_priority, key_of
from tests.kit.quota.history import (
    Change,
    Event,
    Object,
    QuotaHistory,
    becomes,
    condition_of,
    is_evicted_now,
    is_true,
    preemptor_of,
)
from tests.kit.quota.tree import FlavorResource, Tree

__all__ = [
    "CHECKS",
    "admitted_without_quota",
    "beyond_the_tree",
    "evicted_by_turns",
    "evicted_twice",
    "evicted_without_event",
    "evicted_without_reason",
]

ON_NODES: Final = "Preempted on nodes: "
"""So begins the message of a Workload whose pods were preempted on nodes, and not its quota."""
QUEUES: Final = (ClusterQueue, Cohort, LocalQueue)
TAKEN_BACK_SECONDS: Final = 5.0
"""How long an admission of the former leader may exceed the tree after a change of the leader."""
LAG_SECONDS: Final = 2.0
"""A decision knows the quotas as they were at some time within this number of seconds."""
MOST_TURNS: Final = 4
"""Preemptors and their victims are remembered for one term, and a run has a few."""
LOST_SECONDS: Final = 10.0
"""An eviction may have no event if a process was taken away so soon after it."""


def beyond_the_tree(history: QuotaHistory) -> list[str]:
    """Whoever got quota that the cohort tree did not have at that time, unless it was taken back at once."""
    tree, wrong = Tree(), []
    taken_back = [
        change.at
        for change in history.changes()
        if isinstance(change.after, Workload)
        and is_evicted_now(change.before, change.after)
        and _reason(change.after) == QUOTA_EXCEEDED
    ]
    specs = [each for each in history.changes() if isinstance(each.before, ClusterQueue | Cohort)]
    for change in history.changes():
        grown = _take(tree, change)
        if not grown or not isinstance(change.after, Workload) or not history.is_known(change.version):
            continue
        excused = any(change.at <= at <= change.at + TAKEN_BACK_SECONDS for at in taken_back)
        if not excused and not _fits(tree, key_of(change.after), grown, _former(specs, change)):
            wrong.append(f"{_at(change.version, change.after)} got quota beyond the tree")
    return wrong


Specs = dict[str, tuple[ClusterQueue | Cohort, ClusterQueue | Cohort]]
"""By UID: how a queue or cohort was a moment ago, and how it is."""


def _former(changes: list[Change], until: Change) -> Specs:
    """What has changed so short a time ago that whoever decides need not know it.

    Each kind has a watch of its own, so an earlier version may arrive a moment later.
    """
    found: Specs = {}
    for each in changes:
        before, after = each.before, each.after
        if (
            each.version > until.version
            or each.at < until.at - LAG_SECONDS
            or not isinstance(before, ClusterQueue | Cohort)
        ):
            continue
        if isinstance(after, ClusterQueue | Cohort) and before.spec != after.spec:
            first, _ = found.get(before.metadata.uid, (before, after))
            found[before.metadata.uid] = first, after
    return found


def _fits(tree: Tree, key: str, grown: set[FlavorResource], former: Specs) -> bool:
    """Whether the quota is there, or was there before quotas were lowered a moment ago."""
    if tree.fits(key, grown):
        return True
    for before, _ in former.values():
        tree.put(before)
    result = tree.fits(key, grown)
    for _, after in former.values():
        tree.put(after)
    return bool(former) and result


def _take(tree: Tree, change: Change) -> set[FlavorResource]:
    """Returns what a Workload holds more of than before because of a write of its status."""
    before, after = change.before, change.after
    if after is None and isinstance(before, ClusterQueue | Cohort | Workload):
        tree.remove(before)
    if not isinstance(after, ClusterQueue | Cohort | Workload):
        return set()
    held = tree.held(key_of(after)) if isinstance(after, Workload) else {}
    tree.put(after)
    if not isinstance(after, Workload) or (isinstance(before, Workload) and before.spec != after.spec):
        return set()
    return {what for what, amount in tree.held(key_of(after)).items() if amount > held.get(what, 0)}


def admitted_without_quota(history: QuotaHistory) -> list[str]:
    """Whoever was admitted without quota.

    The maker of a Workload may have ended it: Admitted follows a moment later. Whoever stays so is stuck.
    """
    return [
        f"{_at(version, after)} was admitted without quota"
        for version, before, after in history.workloads()
        if becomes(ADMITTED, before, after)
        and not is_true(after, QUOTA_RESERVED)
        and history.is_known(version)
    ]


def evicted_twice(history: QuotaHistory) -> list[str]:
    """Whoever was evicted twice for one preemptor, and nothing in between explains it.

    The preemptor got quota, or the spec of one of them or of a queue has changed, or the room went to a third Workload
    of a higher priority than the preemptor: only such a one may pass. If the third is preempted, it explains nothing:
    else three could take turns for ever. Or a process was taken away: a new term does not know the victims of the one
    before.
    """
    wrong, turns = [], _Turns()
    for change in history.changes():
        before, after = change.before, change.after
        if isinstance(before, QUEUES) and (not isinstance(after, QUEUES) or before.spec != after.spec):
            turns.passers.clear()
        if not isinstance(after, Workload):
            continue
        turns.follow(before, after)
        preemptor = preemptor_of(after) if is_evicted_now(before, after) else ""
        if preemptor:
            again = turns.evicts_again(preemptor, after.metadata.uid, change.at, history.faults)
            if again and history.is_known(change.version):
                wrong.append(f"{_at(change.version, after)} was evicted twice for the preemptor {preemptor}")
            turns.passers[preemptor, after.metadata.uid] = set()
            turns.evicted_at[preemptor, after.metadata.uid] = change.at
    return wrong


def evicted_by_turns(history: QuotaHistory) -> list[str]:
    """Pairs of Workloads that evicted each other again and again. Time-based preemption takes turns on purpose."""
    last, turns = dict[frozenset[str], str](), Counter[frozenset[str]]()
    for change in history.changes():
        before, after = change.before, change.after
        if not isinstance(after, Workload) or not is_evicted_now(before, after):
            continue
        preemptor, preempted = preemptor_of(after), condition_of(after, PREEMPTED)
        if not preemptor or (preempted is not None and preempted.reason == "InClusterQueueTimeBased"):
            continue
        pair = frozenset((preemptor, after.metadata.uid))
        if last.get(pair) not in (None, preemptor):
            turns[pair] += 1
        last[pair] = preemptor
    return [
        f"{' and '.join(sorted(pair))} evicted each other {count + 1} times"
        for pair, count in turns.items()
        if count > MOST_TURNS
    ]


class _Turns:
    """By preemptor: which Workloads were evicted, and which other ones got the room since then."""

    def __init__(self) -> None:
        self.passers: dict[tuple[str, str], set[str]] = {}
        """By preemptor and victim: UIDs of Workloads of higher priority that got quota later and were not preempted."""
        self.evicted_at: dict[tuple[str, str], float] = {}
        self._priorities: dict[str, int] = {}

    def follow(self, before: Object | None, after: Workload) -> None:
        """A Workload has changed."""
        uid = after.metadata.uid
        self._priorities[uid] = effective_priority(after)
        if isinstance(before, Workload) and before.spec != after.spec:
            self._forget(lambda preemptor, victim: uid in (preemptor, victim))
        if becomes(QUOTA_RESERVED, before, after):
            self._forget(lambda preemptor, _: uid == preemptor)
            self._passes(uid)
        if is_evicted_now(before, after) and _reason(after) == PREEMPTED:
            for passers in self.passers.values():
                passers.discard(uid)

    def evicts_again(
        self, preemptor: str, victim: str, now: float, faults: Iterable[tuple[float, float]]
    ) -> bool:
        """Whether the victim was evicted for the preemptor before, and nobody has passed, and there was no fault."""
        pair = preemptor, victim
        if pair not in self.passers or self.passers[pair]:
            return False
        return not any(begin <= now and self.evicted_at[pair] <= end for begin, end in faults)

    def _passes(self, uid: str) -> None:
        for (preemptor, victim), passers in self.passers.items():
            if uid != victim and self._priorities.get(preemptor, 0) < self._priorities[uid]:
                passers.add(uid)

    def _forget(self, is_over: Callable[[str, str], bool]) -> None:
        self.passers = {pair: passers for pair, passers in self.passers.items() if not is_over(*pair)}


def evicted_without_reason(history: QuotaHistory) -> list[str]:
    """Whoever was evicted without a reason, a message, or, where it was preempted, a plan that was stored before."""
    wrong, planned, on_nodes = [], set[tuple[str, str]](), set[str]()
    for change in history.changes():
        after = change.after
        if isinstance(after, PreemptionPlan):
            preemptor = after.spec.preemptor
            planned |= {(preemptor.uid, victim.uid) for victim in after.spec.victims or ()}
            on_nodes.add(f"{ON_NODES}{preemptor.kind} {preemptor.namespace}/{preemptor.name} ")
        if not isinstance(after, Workload) or not _is_judged(history, change):
            continue
        evicted, where = condition_of(after, EVICTED), _at(change.version, after)
        is_planned = (preemptor_of(after), after.metadata.uid) in planned or (
            evicted is not None and evicted.message.startswith(tuple(on_nodes))
        )
        if evicted is None or not evicted.reason or not evicted.message:
            wrong.append(f"{where} was evicted without reason or message")
        elif evicted.reason == PREEMPTED and not is_planned:
            wrong.append(f"{where} was preempted without a plan")
    return wrong


def evicted_without_event(history: QuotaHistory) -> list[str]:
    """Whoever was evicted, and no event says why. Events are lost with the process that was about to write them."""
    told = {
        (change.after.regarding.uid, change.after.reason)
        for change in history.changes()
        if isinstance(change.after, Event)
    }
    wrong = []
    for change in history.changes():
        after = change.after
        if not isinstance(after, Workload) or not _is_judged(history, change):
            continue
        if any(begin - LOST_SECONDS <= change.at <= end + 1.0 for begin, end in history.faults):
            continue
        wrong += [
            f"{_at(change.version, after)} was evicted, and there is no event {reason}"
            for reason in _events_of(after)
            if (after.metadata.uid, reason) not in told
        ]
    return wrong


def _is_judged(history: QuotaHistory, change: Change) -> bool:
    """Whether this is an eviction, and all before it is known."""
    after = change.after
    return (
        isinstance(after, Workload)
        and history.is_known(change.version)
        and is_evicted_now(change.before, after)
    )


def _events_of(evicted: Workload) -> Iterator[str]:
    """The reasons of the events that an eviction has."""
    condition = condition_of(evicted, EVICTED)
    if condition is None:
        return
    yield f"EvictedDueTo{condition.reason}"
    if condition.reason == PREEMPTED and not condition.message.startswith(ON_NODES):
        yield PREEMPTED


CHECKS: Final[tuple[Callable[[QuotaHistory], list[str]], ...]] = (
    beyond_the_tree,
    admitted_without_quota,
    evicted_twice,
    evicted_by_turns,
    evicted_without_reason,
    evicted_without_event,
)
"""What must hold at all times."""


def _reason(workload: Workload) -> str:
    evicted = condition_of(workload, EVICTED)
    return evicted.reason if evicted is not None else ""


def _at(version: int, workload: Workload) -> str:
    return f"version {version}: {key_of(workload)}"
