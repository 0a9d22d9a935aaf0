"""The decision for one preemptor: the victims, the placements and the reasons. It depends only on the snapshot.

The live planner and `reprieve plan` call the same functions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final

from api import plan_results, plans
from api.words import counted
from native.codes import EXHAUSTED, PREEMPTS
from native.nodes._victims import search
from native.nodes.problem import Solution
from nodes.search.budgets import bounded, may_be_stopped, name_stopping, under
from nodes.search.cascade import Cascade
from nodes.search.cluster import Cluster, MisplacedError, lay_out
from nodes.search.comparison import compare
from nodes.search.counted import counting
from nodes.search.devices import with_devices
from nodes.search.excluded import list_excluded
from nodes.search.free_room import bound_already, fill, without_victims
from nodes.search.others import TRIES, others
from nodes.search.plan_parts import in_waves, led_by_devices, placements, spec_for
from nodes.search.preemptors.mismatch import Mismatch
from nodes.search.preemptors.preemptor import DecisionError, Preemptor, group_preemptor, pod_preemptor
from nodes.search.preemptors.supposed import SupposedPods, WorkloadName, supposed
from nodes.search.problem import Built, build
from nodes.search.room import Room
from nodes.search.spreading.cells import Cells, looks_afar
from nodes.search.spreading.obeying import Obeyed, obey
from nodes.search.spreading.seeking import Obeying, required_nodes
from nodes.search.spreading.waves import waves
from nodes.search.steering.candidates import is_native
from nodes.search.steering.evictor import PLACES, who_evicts
from nodes.search.unmodelled import not_modelled
from nodes.search.victims import victims_of, violations_of
from nodes.state.snapshot import Snapshot

__all__ = [
    "BUDGET",
    "EFFORT",
    "EFFORT_PER_MILLISECOND",
    "MILLISECONDS",
    "USUAL",
    "Decision",
    "DecisionError",
    "Limits",
    "decide_for",
    "decide_group",
    "group_decision",
    "pod_decision",
    "workload_decision",
]

BUDGET: Final = 20_000_000
"""The maximum number of steps for one exact packing of members of several shapes: well under a second."""

EFFORT_PER_MILLISECOND: Final = 100_000
"""The work of the search (units, nodes and pieces that it looks at) in a millisecond of a reference machine."""

MILLISECONDS: Final = 200
"""The work that the search may do, over all domains, to make a first plan better: in such milliseconds."""

EFFORT: Final = MILLISECONDS * EFFORT_PER_MILLISECOND
"""The same, in counted work."""

NAMED: Final = 3
"""Members that a reason names."""

SMALL: Final = 200
FEWER: Final = 4
"""In a cluster of more than SMALL nodes, fewer choices of other members are tried if filters refuse the oldest."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a search: counts, not times (see `native`)."""

    budget: int = BUDGET
    """Steps of one exact packing."""
    effort: int = EFFORT
    """Work that makes a first plan better."""
    proves: bool = False
    """Whether that work ends once the plan is proven to be the best. Only `spec.search` says how much it was."""


USUAL: Final = Limits()


@dataclass(frozen=True, slots=True)
class Decision:
    """A plan, and which of its members may swap their nodes."""

    spec: plans.PreemptionPlanSpec
    alike: tuple[tuple[str, ...], ...] = ()
    """Planned members (UIDs) by shape, if there are several of a shape: no filter tells them apart."""


def decide_group(
    snapshot: Snapshot,
    namespace: str,
    name: str,
    *,
    limits: Limits = USUAL,
    strict: bool = True,
    barred: str = "",
) -> plans.PreemptionPlanSpec:
    """The plan of `group_decision`, which takes the same arguments and raises the same errors."""
    return group_decision(snapshot, namespace, name, limits=limits, strict=strict, barred=barred).spec


def group_decision(
    snapshot: Snapshot,
    namespace: str,
    name: str,
    *,
    limits: Limits = USUAL,
    strict: bool = True,
    barred: str = "",
    mirrored: Snapshot | None = None,
    drive: bool = False,
) -> Decision:
    """The decision for a PodGroup. `barred`: why it may not evict for now; empty if it may.

    For a native gang, the plan says who evicts: see `nodes.search.steering.evictor` for `mirrored` and `drive`. None:
    no room in the snapshot is promised.

    Raises DecisionError if the group or its PriorityClass does not exist. With `strict`, it also raises DecisionError
    if the PriorityClass of another group does not exist; otherwise the pods of that group stay.
    """
    preemptor = _barred(group_preemptor(snapshot, namespace, name), barred)
    decision = _decide(snapshot, preemptor, limits, strict)
    if preemptor.policy != "gang" or not is_native(snapshot.groups[preemptor.group]):
        return decision
    if decision.spec.outcome not in PLACES:
        return decision
    verdict = who_evicts(snapshot, mirrored or snapshot, preemptor, decision.spec, drive=drive)
    return replace(decision, spec=verdict.spec)


def pod_decision(
    snapshot: Snapshot,
    namespace: str,
    name: str,
    *,
    limits: Limits = USUAL,
    strict: bool = True,
    barred: str = "",
    among: frozenset[str] | None = None,
) -> Decision:
    """The decision for a single pod. Each node is a domain. `among`: the names of the nodes that it may use; None: any.

    `barred`, and what is raised, as in `group_decision`.
    """
    preemptor = replace(pod_preemptor(snapshot, namespace, name), among=among)
    return _decide(snapshot, _barred(preemptor, barred), limits, strict)


def workload_decision(
    snapshot: Snapshot,
    workload: WorkloadName,
    sets: Sequence[SupposedPods],
    *,
    limits: Limits = USUAL,
) -> Decision:
    """What it would take to place all pods of a Workload, which do not exist yet. They are named after their pod sets.

    Raises DecisionError if a PriorityClass of the pods does not exist, and ValueError for a quantity that cannot be
    read.
    """
    asked = supposed(snapshot, workload, sets)
    if not asked.preemptor.unbound:
        return Decision(spec_for(asked.preemptor, "Fits", "it has no pods"))
    return _decide(asked.snapshot, asked.preemptor, limits, strict=False)


def decide_for(
    snapshot: Snapshot, preemptor: Preemptor, *, limits: Limits = USUAL, strict: bool = False
) -> plans.PreemptionPlanSpec:
    """The plan for a preemptor that the caller has made, of pods that need not be a group in the cluster.

    `strict` as in `group_decision`.
    """
    return _decide(snapshot, preemptor, limits, strict).spec


def _barred(preemptor: Preemptor, why: str) -> Preemptor:
    """The preemptor, which may not evict for now; unchanged if `why` is empty."""
    if not why or not preemptor.evicts:
        return preemptor
    return replace(preemptor, evicts=False, mismatch=Mismatch("EvictedInVain", why))


def _decide(snapshot: Snapshot, preemptor: Preemptor, limits: Limits, strict: bool) -> Decision:
    """The decision on the nodes that count what members request, or else with the devices that nodes may have."""
    decision = _decide_with_budgets(snapshot, preemptor, limits, strict)
    if decision.spec.outcome in ("Fits", "Preempts"):
        return decision
    offered = with_devices(snapshot, preemptor)
    return decision if offered is None else _decide_with_budgets(offered, preemptor, limits, strict)


def _decide_with_budgets(snapshot: Snapshot, preemptor: Preemptor, limits: Limits, strict: bool) -> Decision:
    """The decision with budgets as the preemptor's policy says. If they stop it, the plan names them."""
    decision = _decide_under(under(snapshot, preemptor.budgets), preemptor, limits, strict)
    if may_be_stopped(preemptor, decision.spec):
        counted_so = counting(snapshot, preemptor.budgets)
        would = _decide_under(
            counted_so, replace(preemptor, budgets="Prefer"), replace(limits, effort=0), strict
        )
        name_stopping(decision.spec, counted_so, would.spec)
    return decision


def _decide_under(snapshot: Snapshot, preemptor: Preemptor, limits: Limits, strict: bool) -> Decision:
    members = len(preemptor.bound) + len(preemptor.unbound)
    if not members and preemptor.policy == "gang" and not preemptor.minimum:
        return Decision(spec_for(preemptor, "Fits", "no member exists, and none has to run any longer"))
    if members < max(1, preemptor.minimum):
        return Decision(
            spec_for(preemptor, "Unschedulable", f"{members} of {max(1, preemptor.minimum)} members exist")
        )
    try:
        cluster = Cluster(snapshot, preemptor, lay_out(snapshot, preemptor))
    except MisplacedError as error:
        if not preemptor.required and preemptor.bound:
            return Decision(spec_for(preemptor, "Fits", bound_already(preemptor)))
        return Decision(spec_for(preemptor, "Unschedulable", str(error)))
    if "Cascade" in snapshot.costs.terms:
        cluster.stuck = Cascade(cluster).stuck
    if not cluster.layout.values:
        reason = (
            f"no node has the label {preemptor.topology_key}"
            if preemptor.kind != "Pod" and preemptor.topology_key
            else "no nodes"
        )
        return Decision(spec_for(preemptor, "Unschedulable", reason))
    needs = bool(preemptor.required)
    decision = _with_victims(cluster, limits, strict) if needs else Decision(without_victims(cluster))
    list_excluded(cluster, decision.spec)
    if cluster.layout.astray:
        decision.spec.reason += f"; {cluster.layout.astray}"
    return decision


# ---- plans from a search


def _with_victims(cluster: Cluster, limits: Limits, strict: bool) -> Decision:
    cluster, built, found = _search(cluster, limits, strict)
    obeyed = _obeyed(cluster, built, found, limits, strict)
    if obeyed is not None:
        found, cluster = obeyed.found, obeyed.cells.cluster
        built = obeyed.built
    refusals = obeyed.refusals if obeyed is not None else None
    comparison = compare(cluster, built, found, limits.budget, refusals)
    if found.winner < 0:
        spec = spec_for(cluster.preemptor, comparison.listed[0].outcome, comparison.why_none)
        spec.not_modelled = not_modelled(cluster, list(cluster.preemptor.required), [])
        if (differs := cluster.preemptor.mismatch) is not None:
            spec.mismatch = differs.reason
            spec.reason = f"nothing may be evicted for it: {differs.text}; {spec.reason}"
    elif obeyed is not None and obeyed.plan is not None:
        spec = _placed(obeyed.plan, obeyed.cells)
    else:
        placed = list(required_nodes(built, found).items())
        spec = _placed(Obeying(cluster, built, found, placed), None)
    spec.domains, spec.other_domains = comparison.listed, comparison.others
    return Decision(spec, _alike(cluster, built, spec) if found.winner >= 0 else ())


def _alike(cluster: Cluster, built: Built, spec: plans.PreemptionPlanSpec) -> tuple[tuple[str, ...], ...]:
    """Planned members (UIDs) that no filter tells apart, of one wave."""
    uids, wave = cluster.snapshot.pod_uids, {each.uid: each.wave for each in spec.placements}
    found: dict[tuple[int, object], list[str]] = {}
    for number, members in enumerate(built.shapes):
        for pod in members:
            found.setdefault((number, wave.get(uids[pod])), []).append(uids[pod])
    return tuple(tuple(members) for members in found.values() if len(members) > 1)


def _obeyed(cluster: Cluster, built: Built, found: Solution, limits: Limits, strict: bool) -> Obeyed | None:
    """What the filters leave of the search that look at pods on other nodes; None if none of them concerns a member.

    If they refuse every plan for the oldest members, others are tried: see `others`.
    """
    alone = len(cluster.preemptor.required) == 1 and not len(cluster.conditions)
    if found.winner < 0 or alone or not looks_afar(cluster):
        return None
    obeying = partial(obey, budget=limits.budget, effort=limits.effort, strict=strict, proves=limits.proves)
    first = obeying(cluster, built, found)
    if first.plan is not None or len(cluster.preemptor.unbound) == cluster.preemptor.needed:
        return first
    most = TRIES if len(cluster.layout.nodes) <= SMALL else FEWER
    for other in islice(others(cluster, strict=strict), most):
        asking = cluster.asking_with(other)
        built = build(asking, strict=strict)
        found = search(built.problem, limits.budget, limits.effort, limits.proves)
        found = bounded(found, cluster.preemptor.budgets)
        obeyed = obeying(asking, built, found) if found.winner >= 0 else None
        if obeyed is not None and obeyed.plan is not None:
            return obeyed
    return first


def _search(cluster: Cluster, limits: Limits, strict: bool) -> tuple[Cluster, Built, Solution]:
    """The search for the oldest members that are needed. If they fit nowhere, for others: see `others`.

    All searches for others together have the budget of the first one. If one of them spends its part, and no other one
    finds a plan, then it is the answer: it is not known whether those members fit. The work of all is summed.
    """
    built = build(cluster, strict=strict)
    preemptor = cluster.preemptor
    first = search(built.problem, limits.budget, limits.effort, limits.proves)
    answer = cluster, built, bounded(first, preemptor.budgets)
    work = answer[2].work
    if _decides(answer[2]) or len(preemptor.unbound) == preemptor.needed:
        return answer
    for other in others(cluster, strict=strict):
        asking = cluster.asking_with(other)
        built = build(asking, strict=strict)
        found = search(built.problem, max(1, limits.budget // TRIES), limits.effort, limits.proves)
        found = bounded(found, preemptor.budgets)
        work += found.work
        if found.winner >= 0:
            return asking, built, replace(found, work=work)
        if _decides(found) and not _decides(answer[2]):
            answer = asking, built, found
    return answer


def _decides(found: Solution) -> bool:
    """Whether the search has found a plan, or has not come to its end."""
    return found.winner >= 0 or EXHAUSTED in found.outcomes


def _placed(plan: Obeying, cells: Cells | None) -> plans.PreemptionPlanSpec:
    """The plan of the winning domain. The later members come last and get what is left.

    `cells`: the members that look at other nodes; None if there are none.
    """
    cluster, built, found = plan.cluster, plan.built, plan.found
    snapshot, layout = cluster.snapshot, cluster.layout
    required = dict(plan.placed)
    gone = [pod for unit in found.victims for pod in built.units.members(unit)]
    room = Room(cluster, gone)
    room.place_all(required)
    later = fill(cluster, found.winner, room)
    preempts = found.outcomes[found.winner] == PREEMPTS
    spec = spec_for(cluster.preemptor, "Preempts" if preempts else "Fits", "it fits without evictions")
    spec.domain = plans.Domain(layout.topology_key, layout.values[found.winner])
    order = plan.placed if cells is not None else []
    numbers = waves(cells, cells.counts(gone), [*order, *later]) if cells is not None else []
    if not any(numbers):
        order = [(pod, required[pod]) for pod in cluster.preemptor.required]
    needed = placements(snapshot, order, beyond_min_count=False)
    if layout.topology_key is not None and cluster.preemptor.kind != "Pod" and not cluster.preemptor.bound:
        needed = led_by_devices(needed)
    if all(each.any_node for each in needed):  # the scheduler chooses the nodes, so no order is known
        numbers = []
    spec.placements = in_waves([*needed, *placements(snapshot, later, beyond_min_count=True)], numbers)
    spec.not_modelled = not_modelled(cluster, list(cluster.preemptor.required), gone, required)
    if preempts:
        victims, pods = counted(len(found.victims), "victim"), counted(len(gone), "pod")
        spec.reason = f"it fits with {victims} ({pods}) gone"
        spec.priority_cutoff = found.scores[found.winner][1]
        work = found.work * 1000 // EFFORT_PER_MILLISECOND
        spec.search = plan_results.SearchReport(work, found.ended, found.lowest)
        spec.victims = victims_of(snapshot, built, found.victims)
        spec.pod_disruption_budget_violations = violations_of(built, found.victims)
    if passed := _passed_over(cluster.preemptor, snapshot, {pod for pod, _ in later}):
        spec.reason += f"; {passed}"
    return spec


def _passed_over(preemptor: Preemptor, snapshot: Snapshot, placed: Collection[int]) -> str:
    """Which older members the gang does without, because they do not fit with the others; empty if there are none."""
    if not preemptor.later:
        return ""
    youngest = max(_age(snapshot, pod) for pod in preemptor.required)
    older = (pod for pod in preemptor.later if _age(snapshot, pod) < youngest)
    names = [snapshot.pod_names[pod] for pod in older if pod not in placed]
    if not names:
        return ""
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"without older members that do not fit: {', '.join(names[:NAMED])}{rest}"


def _age(snapshot: Snapshot, pod: int) -> tuple[int, str]:
    return int(snapshot.pod_created[pod]), snapshot.pod_names[pod]
