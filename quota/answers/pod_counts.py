"""How many pods of a Workload get quota, and why the others get none (partial admission)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from api.waits import PodCount
from api.words import counted
from api.workloads import Workload
from quota.answers.words import NO_FIT
from quota.search.decision import Decision
from quota.state.workloads import pod_set_requests

__all__ = ["counts_held", "counts_of", "in_part", "why_not_all"]


def counts_of(decision: Decision) -> tuple[PodCount, ...]:
    """The pods for which it gets quota, also with a preemption; empty if it gets none."""
    if decision.mode != "Fit" and not decision.targets:
        return ()
    return tuple(PodCount(each.name, each.count, each.asked) for each in decision.assignment.pod_sets)


def counts_held(workload: Workload) -> tuple[PodCount, ...]:
    """The pods for which it has quota; empty if it has none."""
    admission = workload.status.admission
    if admission is None:
        return ()
    needed = {each.name: each.count for each in pod_set_requests(workload)}
    found = []
    for each in admission.pod_set_assignments or ():
        left = needed.get(each.name, 0)
        count = left if each.count is None else each.count
        found.append(PodCount(each.name, count, max(count, left)))
    return tuple(found)


def in_part(counts: Iterable[PodCount]) -> str:
    """Such as `4 of its 10 pods`; "" if all pods get quota."""
    fewer = [each for each in counts if each.count < each.asked]
    if len(fewer) == 1:
        return f"{fewer[0].count} of its {counted(fewer[0].asked, 'pod')}"
    return ", ".join(f"{each.count} of {counted(each.asked, 'pod')} of {each.name}" for each in fewer)


def why_not_all(decision: Decision) -> Sequence[str]:
    """Sentences about a minCount: why all pods get no quota, or that fewer get none either."""
    full = decision.full
    if full is None:
        return ["Fewer pods, down to its minCount, get no quota either."] if decision.tried_fewer else []
    why = "too few of the Workloads that hold quota may be preempted."
    if full.mode == "NoFit":
        problem = NO_FIT[full.no_fit_reason]
        why = problem[0].lower() + problem[1:]
    return [f"This is a partial admission, because it has a minCount. All its pods do not fit: {why}"]
