"""How the queues of a cluster stand: their quota and its use, who waits and why, and who could take quota back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from api.workloads import Workload
from quota.answers import words
from quota.answers.accounts import Account, Lent, account, lent
from quota.answers.reclaims import HIGHEST, Reclaim, could_take_back, reclaims
from quota.answers.selected import Namespaces, taking
from quota.answers.verdicts import doubts, gets_quota
from quota.cycle.admissible import inadmissible
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry, Outcome
from quota.cycle.queues import Precedence, backs_off, is_queued, precedence
from quota.search.decision import Options
from quota.state.amounts import QuotaError
from quota.state.snapshot import Queue, QuotaSnapshot
from quota.state.workloads import key_of, local_queue_key

__all__ = [
    "Asked",
    "NodeOverview",
    "Overview",
    "QueueOverview",
    "TriedAlone",
    "overview",
    "queue_overview",
    "tried_alone",
]

Shares = Mapping[tuple[str, str], Mapping[int, Lent]]


@dataclass(frozen=True, slots=True)
class NodeOverview:
    """A ClusterQueue or a Cohort in the tree."""

    name: str
    is_cohort: bool
    depth: int
    """How many Cohorts are above it."""
    accounts: tuple[Account, ...]
    waiting: int
    """Workloads that wait in the ClusterQueue; 0 of a Cohort."""
    inactive: str
    """Why a ClusterQueue admits nothing; "" if it does."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Every tree of Cohorts."""

    trees: tuple[tuple[NodeOverview, ...], ...]
    """By the name of the root. A node comes after the one above it, ClusterQueues before Cohorts."""
    reclaims: tuple[Reclaim, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a Workload is tried in."""

    snapshot: QuotaSnapshot
    now: int
    """In microseconds since 1970."""
    options: Options


@dataclass(frozen=True, slots=True)
class TriedAlone:
    """What becomes of a Workload if it is tried next, alone."""

    entry: Entry
    doubts: tuple[str, ...] = ()
    """Names of what is not modelled and could make the outcome another one."""

    @property
    def outcome(self) -> Outcome | Literal["Unknown"]:
        """The outcome of the cycle, or that it is not known."""
        return "Unknown" if self.doubts else self.entry.outcome


@dataclass(frozen=True, slots=True)
class QueueOverview:
    """One ClusterQueue."""

    queue: Queue
    path: str
    accounts: tuple[Account, ...]
    waiting: tuple[TriedAlone, ...]
    """In the order of the queue. Each says what becomes of the Workload if it is tried next, alone."""
    takes: tuple[Reclaim, ...]
    """What it could take back from others."""
    loses: tuple[Reclaim, ...]
    """What others could take back, if Workloads of this queue would be among the victims."""


def overview(
    snapshot: QuotaSnapshot,
    workloads: Iterable[Workload],
    now: int,
    options: Options,
    priority: int = HIGHEST,
) -> Overview:
    """All queues. `now` is in microseconds; `priority`: of those that are supposed to take quota back."""
    waiting = _waiting(snapshot, workloads)
    below = defaultdict(list)
    for node, parent in enumerate(snapshot.layout.quotas.parent.tolist()):
        below[parent].append(node)
    shares = {pair: lent(snapshot, pair) for pair in snapshot.layout.frs}
    depths, trees = {}, []
    for root in sorted(below[-1], key=lambda node: (snapshot.layout.names[node], node)):
        depths[root] = 0
        nodes, left = [], [root]
        while left:
            node = left.pop()
            nodes.append(node)
            for child in reversed(below[node]):
                depths[child] = depths[node] + 1
                left.append(child)
        trees.append(tuple(_node(snapshot, node, depths[node], waiting, shares) for node in nodes))
    return Overview(tuple(trees), tuple(reclaims(snapshot, now, options, priority)))


def queue_overview(
    snapshot: QuotaSnapshot,
    queue: Queue,
    workloads: Iterable[Workload],
    now: int,
    options: Options,
    *,
    priority: int = HIGHEST,
    namespaces: Namespaces | None = None,
) -> QueueOverview:
    """One ClusterQueue. The other arguments are as for `overview`."""
    asked = Asked(snapshot, now, options)
    root = _root(snapshot, queue.node)
    others = [
        each for each in snapshot.queues.values() if each is not queue and _root(snapshot, each.node) == root
    ]
    taken = [
        reclaim
        for other in sorted(others, key=lambda each: each.name)
        for reclaim in could_take_back(snapshot, other, now, options, priority)
        if any(target.holder.queue == queue.name for target in reclaim.targets)
    ]
    return QueueOverview(
        queue=queue,
        path=snapshot.path(queue.node),
        accounts=tuple(_accounts(snapshot, queue.node, {})),
        waiting=tuple(
            _tried(queue, workload, asked, namespaces or {})
            for workload in sorted(_waiting(snapshot, workloads)[queue.name], key=_place)
        ),
        takes=tuple(could_take_back(snapshot, queue, now, options, priority)),
        loses=tuple(taken),
    )


def tried_alone(queue: Queue, workload: Workload, asked: Asked, namespaces: Namespaces) -> TriedAlone:
    """What becomes of a Workload of the queue if it is tried next, alone. One that backs off is not tried."""
    snapshot = asked.snapshot
    if backs_off(workload, asked.now):
        until = words.backs_off(words.tried_again(workload))
        return TriedAlone(inadmissible(queue, workload, asked.now, until, "PendingEvaluation"))
    snapshot, unsure = taking(snapshot, queue, workload.metadata.namespace, namespaces)
    (entry,) = cycle(snapshot, [workload], asked.now, asked.options, namespaces=namespaces)
    if entry.decision is None or entry.outcome == "Gated":  # it waits, whatever else is true
        return TriedAlone(entry)
    unsure = unsure if gets_quota(entry.decision) else ()
    return TriedAlone(entry, (*unsure, *doubts(workload, entry.decision, snapshot)))


def _tried(queue: Queue, workload: Workload, asked: Asked, namespaces: Namespaces) -> TriedAlone:
    """As `tried_alone`, also for a Workload that nobody can decide about: it prevents no answer about the others."""
    try:
        return tried_alone(queue, workload, asked, namespaces)
    except QuotaError as error:
        mine = error.subject == f"Workload {key_of(workload)}"
        says = ": ".join(filter(None, (error.field, error.problem))) if mine else "it cannot be decided about"
        return TriedAlone(inadmissible(queue, workload, asked.now, says, "Misconfigured"))


def _place(workload: Workload) -> tuple[bool, Precedence | str]:
    """Sort key: the order of the queue, then those that have no place because a time cannot be read."""
    try:
        return False, precedence(workload)
    except QuotaError:
        return True, key_of(workload)


def _waiting(snapshot: QuotaSnapshot, workloads: Iterable[Workload]) -> Mapping[str, list[Workload]]:
    """By ClusterQueue: who waits there."""
    waiting: dict[str, list[Workload]] = defaultdict(list)
    for workload in workloads:
        local = snapshot.local_queues.get(local_queue_key(workload))
        if local is not None and is_queued(workload):
            waiting[local.spec.cluster_queue].append(workload)
    return waiting


def _node(
    snapshot: QuotaSnapshot,
    node: int,
    depth: int,
    waiting: Mapping[str, list[Workload]],
    shares: Shares,
) -> NodeOverview:
    name, is_cohort = snapshot.layout.names[node], node >= snapshot.layout.quotas.queues
    return NodeOverview(
        name=name,
        is_cohort=is_cohort,
        depth=depth,
        accounts=tuple(_accounts(snapshot, node, shares)),
        waiting=0 if is_cohort else len(waiting.get(name, ())),
        inactive="" if is_cohort else snapshot.queues[name].inactive,
    )


def _accounts(snapshot: QuotaSnapshot, node: int, shares: Shares) -> Iterator[Account]:
    """Of each flavor and resource that the node has quota of or uses, by name."""
    for pair, fr in sorted(snapshot.layout.frs.items()):
        defined = bool(snapshot.layout.quotas.defined[node, fr])
        if defined or snapshot.ledger.usage(node, fr) or snapshot.ledger.quota(node, fr):
            yield account(snapshot, node, pair, shares.get(pair))


def _root(snapshot: QuotaSnapshot, node: int) -> int:
    parent = snapshot.layout.quotas.parent
    while parent[node] >= 0:
        node = int(parent[node])
    return node
