"""Whether somebody else's decision about a Workload is ours, on the state before it was written. This module is pure.

See docs/decisions/0047.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from api.workloads import EVICTED, PREEMPTED, Admission, Workload
from controllers.quota.life.admitting import admission_of
from quota.cycle.cycle import cycle
from quota.cycle.entries import Entry
from quota.cycle.queues import heads
from quota.cycle.unsupported import why_unsupported
from quota.search.decision import Options, Tried
from quota.state.amounts import QuotaError
from quota.state.snapshot import QuotaSnapshot
from quota.state.workloads import holds_quota, is_evicting, key_of

__all__ = [
    "Before",
    "Comparison",
    "Written",
    "admission_written",
    "compare",
    "is_comparable",
    "preemptor_written",
]

PREEMPTOR: Final = re.compile(r"\(UID: ([^,)\s]+)")
"""In Kueue's message of Preempted and Evicted."""


@dataclass(frozen=True, slots=True)
class Before:
    """The state before the first write of a decision."""

    snapshot: QuotaSnapshot
    workload: Workload
    """The Workload that waits: it is admitted, or others are preempted for it."""
    pending: Sequence[Workload]
    """All Workloads; those that do not wait are passed over."""
    now: int
    """In microseconds."""
    namespaces: Mapping[str, Mapping[str, str]]
    """The labels of each namespace."""


@dataclass(frozen=True, slots=True)
class Written:
    """A decision that somebody wrote: an admission, or the Workloads (keys) that were preempted."""

    admission: Admission | None
    victims: frozenset[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison."""

    agrees: bool | None
    """None: there is no decision of ours."""
    ours: str
    """Our decision in words, for the log."""


# ---- what was written


def admission_written(before: Workload, after: Workload) -> Admission | None:
    """The quota that the Workload got with this write; None if it got none."""
    return after.status.admission if holds_quota(after) and not holds_quota(before) else None


def preemptor_written(before: Workload, after: Workload) -> str | None:
    """The UID for which the Workload was preempted by this write; "" if it cannot be read, None if it was not
    preempted."""
    if is_evicting(before) or not holds_quota(before):
        return None
    for each in after.status.conditions or ():
        if each.type == EVICTED and each.status == "True" and each.reason == PREEMPTED:
            found = PREEMPTOR.search(each.message)
            return found.group(1) if found is not None else ""
    return None


def is_comparable(workload: Workload) -> bool:
    """Whether our decisions about the Workload cover all that Kueue's do."""
    return not why_unsupported(workload)


# ---- what we decide


def compare(before: Before, written: Written, options: Options) -> Comparison:
    """Whether a cycle on the state before decides the same: the same flavors, or the same victims.

    Nobody knows which other heads Kueue's cycle had, and which flavors it had tried before. So the decision is ours if
    any cycle with this head decides it.
    """
    said: list[str] = []
    for entry in _entries(before, options):
        if entry.decision is None:
            continue
        if _is_same(entry, written, before.workload):
            return Comparison(True, _in_words(entry))
        said.append(_in_words(entry))
    return Comparison(False, " or ".join(dict.fromkeys(said))) if said else Comparison(None, "")


def _entries(before: Before, options: Options) -> Iterator[Entry]:
    """What cycles say of the Workload: alone, with further flavors, and beside the heads of the other queues."""
    entry = _entry(before, [before.workload], options, None)
    yield entry
    searches = 0
    while entry.tried is not None and searches < _flavors(before):
        entry = _entry(before, [before.workload], options, entry.tried)
        yield entry
        searches += 1
    others = _other_heads(before)
    if others:
        yield _entry(before, [before.workload, *others], options, None)


def _entry(before: Before, those: Sequence[Workload], options: Options, tried: Tried | None) -> Entry:
    key = key_of(before.workload)
    entries = cycle(
        before.snapshot,
        those,
        before.now,
        options,
        namespaces=before.namespaces,
        tried={key: tried} if tried is not None else {},
    )
    return next(each for each in entries if key_of(each.workload) == key)


def _flavors(before: Before) -> int:
    return len(before.snapshot.flavors)


def _other_heads(before: Before) -> list[Workload]:
    """The heads of the other ClusterQueues of the tree."""
    snapshot = before.snapshot
    try:
        own = snapshot.queue_of(before.workload)
    except QuotaError:
        return []
    tree = snapshot.tree(own.node)
    found = [(each, snapshot.queue_of(each)) for each in heads(snapshot, before.pending, before.now)]
    return [head for head, queue in found if queue is not own and snapshot.tree(queue.node) == tree]


def _is_same(entry: Entry, written: Written, workload: Workload) -> bool:
    if entry.decision is None:
        return False
    if written.admission is None:
        return entry.outcome == "Preempt" and _victims(entry) == written.victims
    ours = admission_of(entry.decision)
    return entry.outcome == "Admit" and _given(ours, workload) == _given(written.admission, workload)


def _given(admission: Admission, workload: Workload) -> tuple[str, Mapping[str, tuple[int | None, object]]]:
    """The ClusterQueue, and for each pod set its count and its flavors by resource."""
    counts = {pods.name: pods.count for pods in workload.spec.pod_sets}
    return admission.cluster_queue, {
        each.name: (counts.get(each.name) if each.count is None else each.count, each.flavors or {})
        for each in admission.pod_set_assignments or ()
    }


def _victims(entry: Entry) -> Collection[str]:
    """Those that the cycle evicts. Others are on their way out already."""
    targets = entry.decision.targets if entry.decision is not None else ()
    return {each.holder.key for each in targets if not each.holder.evicting}


def _in_words(entry: Entry) -> str:
    if entry.outcome == "Admit" and entry.decision is not None:
        flavors = {name: dict(given) for name, given in entry.decision.flavors.items()}
        counts = {pods.name: pods.count for pods in entry.decision.assignment.pod_sets}
        return f"Admit {flavors}, pods {counts}"
    if entry.outcome == "Preempt":
        return f"Preempt {sorted(_victims(entry))}"
    return entry.outcome
