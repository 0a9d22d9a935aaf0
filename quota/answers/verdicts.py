"""Whether a decision about quota is known to be right, or something that is not modelled could make it wrong.

Every answer about quota asks here, as those about nodes ask `nodes.answers.verdicts`. Admission by a live controller
does not: it leaves out what it does not support (`quota.cycle.unsupported`). See docs/decisions/0088.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from api.workloads import Workload
from quota.cycle.unsupported import ELASTIC, TOPOLOGIES, unsupported
from quota.search.decision import Decision
from quota.state.snapshot import Queue, QuotaSnapshot

__all__ = ["doubts", "gets_quota"]

REPLACES: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
"""The annotation of an elastic Workload that takes the quota of a smaller one over."""
BOOST: Final = "kueue.x-k8s.io/priority-boost"


def gets_quota(decision: Decision) -> bool:
    """Whether the decision says that it gets its quota, perhaps once others are gone or its gates are open."""
    return decision.mode == "Fit" or bool(decision.targets)


def doubts(workload: Workload, decision: Decision, snapshot: QuotaSnapshot) -> tuple[str, ...]:
    """Names of what is not modelled and could make the decision another one; empty if nothing could.

    What can only refuse, or ask for more, does not matter where there is no quota without it. But it may rule out a
    flavor that the decision stays with, where another one is left.
    """
    queue = snapshot.queues[decision.queue]
    if gets_quota(decision):
        names = [*_refusing(workload, decision, queue, snapshot), *_boosted(workload, decision)]
    elif _has_another_flavor(decision, queue):
        names = [*_refusing(workload, decision, queue, snapshot), *_admitting(workload)]
    else:
        names = [*_admitting(workload)]
        names += [] if decision.mode == "NoFit" else _boosted(workload, decision)
    return tuple(dict.fromkeys(names))


# ---- what could refuse


def _refusing(workload: Workload, decision: Decision, queue: Queue, snapshot: QuotaSnapshot) -> Iterator[str]:
    requested = [each.name for each in unsupported(workload, elsewhere=queue.dispatches)]
    yield from requested
    if not queue.dispatches and not any(name.startswith(TOPOLOGIES) for name in requested):
        flavors = {flavor for pods in decision.flavors.values() for flavor in pods.values()}
        for name in sorted(flavors):
            flavor = snapshot.flavors.get(name)
            if flavor is not None and flavor.spec.topology_name is not None:
                yield f"{TOPOLOGIES} (ResourceFlavor {name}, spec.topologyName)"
    if snapshot.surroundings.runtime_classes is None:
        classes = {
            pods.template.spec.runtime_class_name
            for pods in workload.spec.pod_sets
            if not pods.template.spec.overhead
        }
        yield from (
            f"RuntimeClass {name}, which is not in the files" for name in sorted(filter(None, classes))
        )
    if queue.spec.concurrent_admission_policy is not None:
        yield f"concurrent admission (ClusterQueue {queue.name}, spec.concurrentAdmissionPolicy)"


def _has_another_flavor(decision: Decision, queue: Queue) -> bool:
    """Whether the decision would try, or take, another flavor if the one that it has taken were ruled out.

    Of fewer pods than all, it is not known which flavors were tried.
    """
    if decision.mode == "NoFit" and not decision.tried_fewer:
        return False
    for search in decision.assignment.searches:
        group = queue.group_of.get(search.resources[0]) if search.resources else None
        out = sum(attempt.outcome == "NoFit" for attempt in search.attempts)
        if group is not None and len(group.flavors) - (0 if decision.tried_fewer else out) > 1:
            return True
    return False


# ---- what could admit


def _admitting(workload: Workload) -> Iterator[str]:
    annotations = workload.metadata.annotations or {}
    if annotations.get(REPLACES):
        yield f"{ELASTIC} (metadata.annotations[{REPLACES}])"


# ---- what could change who is preempted


def _boosted(workload: Workload, decision: Decision) -> Iterator[str]:
    """The priority of a Workload may be raised or lowered by an annotation, behind a gate."""
    if decision.mode == "Fit":
        return
    holders = (target.holder.workload for target in decision.targets)
    if any(BOOST in (each.metadata.annotations or {}) for each in (workload, *holders)):
        yield f"priority boost (metadata.annotations[{BOOST}])"
