"""The plain twin of partial admission: Kueue's search by index, over decisions about Workloads that are written anew.

Each number of pods that is tried is a Workload of its own here: it asks for that many pods, has no minCount, and no pod
of it is reclaimable.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import msgspec

from api.workloads import Workload
from quota.search.decision import Decision

__all__ = ["decided"]


def decided(workload: Workload, whole: Callable[[Workload], Decision]) -> Decision:
    """The decision with as many pods as possible. `whole` decides about a Workload that needs all its pods."""
    full = whole(_fixed(workload, None))
    shrinks = [each.count - (each.min_count or each.count) for each in workload.spec.pod_sets]
    if _succeeds(full) or not any(shrinks):
        return full
    last = sum(shrinks)

    def at(index: int) -> Decision:
        pairs = zip(workload.spec.pod_sets, shrinks, strict=True)
        return whole(_fixed(workload, [pods.count - (less * index) // last for pods, less in pairs]))

    # The standard library bisects like Go's sort.Search.
    index = bisect_left(range(last + 1), True, key=lambda index: _succeeds(at(index)))
    return at(index) if index <= last else full


def _succeeds(decision: Decision) -> bool:
    return decision.mode == "Fit" or (decision.mode == "Preempt" and len(decision.targets) > 0)


def _fixed(workload: Workload, counts: list[int] | None) -> Workload:
    """With these numbers of pods; None: with those that are not reclaimable. All of them are needed."""
    gone = {each.name: each.count for each in workload.status.reclaimable_pods or ()}
    left = [max(0, each.count - gone.get(each.name, 0)) for each in workload.spec.pod_sets]
    wanted = (
        left
        if counts is None
        else [
            # Nothing is known of what a pod set asks for that has no pod left.
            count if here else 0
            for count, here in zip(counts, left, strict=True)
        ]
    )
    pod_sets = [
        msgspec.structs.replace(each, count=count, min_count=None)
        for each, count in zip(workload.spec.pod_sets, wanted, strict=True)
    ]
    return msgspec.structs.replace(
        workload,
        spec=msgspec.structs.replace(workload.spec, pod_sets=pod_sets),
        status=msgspec.structs.replace(workload.status, reclaimable_pods=None),
    )
