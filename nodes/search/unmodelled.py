"""What a plan does not take into account, in words. A plan with victims is Blocked by it.

What it means for an answer is in `nodes.answers.verdicts`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api import unmodelled
from api.plans import PreemptionPlanSpec
from nodes.filters.gang_scheduling import NATIVE
from nodes.filters.inter_pod_affinity import AFFINITY
from nodes.filters.node_volume_limits import LIMITS
from nodes.filters.registry import FILTERS, LOCAL, POD_FILTERS, STRICTER
from nodes.filters.taint_toleration import REASON as TAINTED
from nodes.filters.taint_toleration import TaintToleration
from nodes.groups.forms import asking, is_basic
from nodes.search.cluster import Cluster
from nodes.search.devices import Devices
from nodes.search.neighbours.kinds import Kinds, on_nodes
from nodes.search.neighbours.tokens import interested
from nodes.search.neighbours.volume_claims import unmodelled_claims
from nodes.state.columns.flags import KEPT, TERMINATING, is_leaving
from nodes.state.snapshot import Snapshot

__all__ = ["could_admit", "not_modelled", "why_blocked"]

BUDGET: Final = "PodDisruptionBudget "
"""What the names of budgets begin with whose allowance is not known. On a cluster it is, so it blocks no plan."""
MAY_ADMIT: Final = STRICTER | {LIMITS, AFFINITY}
"""Names of what may admit a member that the search refuses: volumes that several pods share count once, and affinity
to pods of a namespace may be met if its labels are not known."""


def why_blocked(spec: PreemptionPlanSpec, *, asks: bool = True) -> str:
    """Why the victims of the plan are not evicted. Empty if they may be evicted, or if there are no victims.

    `asks`: the scheduler is asked about each member before anything is evicted (docs/decisions/0058).
    """
    names = [name for name in spec.not_modelled if not name.startswith(BUDGET)]
    if spec.outcome != "Preempts" or not names or (asks and _can_be_asked(spec, names)):
        return ""
    return unmodelled.not_modelled(names)


def _can_be_asked(spec: PreemptionPlanSpec, names: Collection[str]) -> bool:
    """Whether the scheduler's word on each member settles what is not modelled: each is alone on its node, and what is
    not modelled depends on nothing else."""
    nodes = [each.node for each in spec.placements]
    return len(set(nodes)) == len(nodes) and LOCAL.issuperset(names)


def could_admit(name: str) -> bool:
    """Whether what is not modelled may admit a member where the search refuses it. Anything else only refuses."""
    return name in MAY_ADMIT or name.startswith(BUDGET)


def not_modelled(
    cluster: Cluster, members: Collection[int], gone: list[int], placed: Mapping[int, int] | None = None
) -> list[str]:
    """Names of what the plan does not take into account, sorted.

    The filters may see a feature of these members that they do not model. A pod that stays may conflict with a member
    in a way that no filter models. `gone` are the pods of the victims: they conflict with no member. With `placed`
    (node by member), a conflict counts only if the pod that stays could reach the node from where it runs.
    """
    snapshot = cluster.snapshot
    classes = {int(row) for row in snapshot.pod_class[list(members)]}
    names = {name for row in classes if (each := snapshot.classes[row]) for name in each.unmodelled}
    if _is_driven(cluster):
        names.discard(NATIVE)
    if placed is not None:
        names -= STRICTER
    names.update(_between(cluster, members, gone, placed))
    devices = Devices(snapshot)
    for pod, node in (placed or {}).items() if devices.columns else ():
        names.update(devices.named(pod, node))
    if placed is None and names & TaintToleration.stricter and not _meet_taints(cluster, members):
        names -= TaintToleration.stricter
    names.update(unmodelled_claims(snapshot, members, gone, placed))
    names.update(_unnoticed(snapshot, members, gone))
    names.update(_in_unknown_namespaces(snapshot, members))
    names.update(_unknown_budgets(cluster, gone))
    return sorted(names)


def _is_driven(cluster: Cluster) -> bool:
    """Whether the preemptor is a gang that we plan for, or a pod of a basic group of the scheduler's own kind. If the
    gang's pods are in such a group, the scheduler tries them together, and takes the nodes that filter offers."""
    snapshot, preemptor = cluster.snapshot, cluster.preemptor
    group = snapshot.groups[preemptor.group] if preemptor.group >= 0 else None
    if preemptor.kind != "Pod":
        return group is not None and asking(group, snapshot.preempting) is group
    rows = {int(snapshot.pod_group[pod]) for pod in preemptor.required}
    return all(row >= 0 and is_basic(snapshot.groups[row]) for row in rows)


def _meet_taints(cluster: Cluster, members: Collection[int]) -> bool:
    """Whether a node refuses a member because of its taints."""
    one_of_each = {int(cluster.snapshot.pod_class[pod]): pod for pod in members}
    return any(TAINTED in cluster.refusals(pod) for pod in one_of_each.values())


def _unknown_budgets(cluster: Cluster, gone: list[int]) -> Iterator[str]:
    """Budgets whose allowance nobody knows, if one selects a pod that might be evicted.

    Where budgets are preferred, they decide which pods are victims, and not whether any are.
    """
    snapshot, preemptor = cluster.snapshot, cluster.preemptor
    rows = [row for row, each in enumerate(snapshot.budgets) if each is not None and each.unknown]
    if not rows or not (gone or preemptor.budgets == "Respect"):
        return
    pods = snapshot.pod_live & (snapshot.pod_node >= 0) & (snapshot.pod_flags & (TERMINATING | KEPT) == 0)
    pods &= snapshot.pod_priority < preemptor.priority
    pods[gone] = True
    if snapshot.pod_exempt is not None:
        pods &= ~snapshot.pod_exempt
    selecting = {
        row for labels in set(snapshot.pod_labels[pods].tolist()) for row in snapshot.label_budgets[labels]
    }
    for row in selecting.intersection(rows):
        budget = snapshot.budgets[row]
        if budget is not None:
            yield f"{BUDGET}{budget.namespace}/{budget.name} (without {budget.unknown})"


def _in_unknown_namespaces(snapshot: Snapshot, members: Collection[int]) -> Iterator[str]:
    """What members ask of the labels of namespaces, if there are pods in a namespace whose labels are not known."""
    classes = set(snapshot.pod_class[list(members)].tolist())  # np.unique would import numpy.ma, in 40 ms
    asked = {
        name
        for row in classes
        if (its_class := snapshot.classes[row]) is not None
        for place, (each, needs) in enumerate(zip(FILTERS, its_class.needs, strict=True))
        if place not in its_class.off
        if needs is not None and (name := each.namespaces_asked(needs)) is not None
    }
    if not asked:
        return
    pods = np.concatenate([on_nodes(snapshot)[0], np.array(list(members), np.intp)])
    inhabited = (snapshot.label_sets[row] for row in np.unique(snapshot.pod_labels[pods]).tolist())
    if any(each is not None and each[0] not in snapshot.namespaces for each in inhabited):
        yield from asked


def _unnoticed(snapshot: Snapshot, members: Collection[int], gone: list[int]) -> Iterator[str]:
    """Conflicts of members with victims whose end the scheduler would not notice."""
    if not any(each is not None and each.chooses_namespaces for each in snapshot.classes):
        return
    victims, mine = (
        Kinds(snapshot, np.array(gone, np.intp)),
        Kinds(snapshot, np.array(list(members), np.intp)),
    )
    for place, each in POD_FILTERS:
        members_seen = [member for member in mine.tenants(place) if member.asks]
        for victim in victims.tenants(place):
            names = (each.unnoticed_between(victim, member) for member in members_seen)
            yield from (name for name in names if name is not None)


def _between(
    cluster: Cluster, members: Collection[int], gone: list[int], placed: Mapping[int, int] | None
) -> Iterator[str]:
    """What bound pods, neither going nor victims, could have against a member."""
    snapshot = cluster.snapshot
    staying = snapshot.pod_live & (snapshot.pod_node >= 0) & ~is_leaving(snapshot.pod_flags)
    staying[gone] = False
    bound = np.flatnonzero(staying)
    mine = Kinds(snapshot, np.array(list(members), np.intp))
    for place, each in POD_FILTERS:
        needing = interested(snapshot, place)
        if not needing.any():
            continue
        pods = bound[needing[snapshot.pod_class[bound]]]
        theirs = Kinds(snapshot, pods)
        members_seen = mine.tenants(place)
        for kind, running in enumerate(theirs.tenants(place)):
            for mine_kind, member in enumerate(members_seen):
                name = each.unmodelled_between(running, member) if member.asks else None
                if name is None:
                    continue
                there = snapshot.pod_node[pods[theirs.of == kind]]
                asking = np.array(list(members), np.intp)[mine.of == mine_kind].tolist()
                here = None if placed is None else [placed[pod] for pod in asking if pod in placed]
                if here is None or _share(cluster, each.conflict_keys(running, member), there, here):
                    yield name


def _share(cluster: Cluster, keys: Iterable[str], there: NDArray[np.int32], here: list[int]) -> bool:
    """Whether a node of `there` and one of `here` have the same value of one of the labels."""
    for key in keys:
        places = cluster.conditions.nodes.places(key)
        if set(places[there].tolist()) & set(places[here].tolist()) - {-1}:
            return True
    return False
