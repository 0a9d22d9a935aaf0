"""Asks the search what the live planner would ask it: without the room that is promised to others.

Room is promised by the stored plans that are carried out, and by nominations. Promises of a lower priority are ignored.
See docs/decisions/0026 and docs/decisions/0090.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from api.plans import PreemptionPlanSpec
from api.requests import PODS
from nodes.search import decision
from nodes.search.decision import USUAL, Limits
from nodes.search.preemptors.preemptor import Preemptor, group_preemptor, pod_preemptor
from nodes.search.promised import HeldRoom, with_promised
from nodes.state.columns.flags import KEPT, STAYING, TERMINATING
from nodes.state.snapshot import PlanRoom, Snapshot

__all__ = ["as_seen_by", "decide_for", "decide_group", "decide_pod", "held_room", "victim_owners"]


def decide_group(snapshot: Snapshot, namespace: str, name: str, *, strict: bool = True) -> PreemptionPlanSpec:
    """The plan for a PodGroup. `strict`, and what is raised: see `nodes.search.decision.group_decision`."""
    return decide_for(snapshot, group_preemptor(snapshot, namespace, name), strict=strict)


def decide_pod(snapshot: Snapshot, namespace: str, name: str, *, strict: bool = True) -> PreemptionPlanSpec:
    """The plan for a single pod. `strict`, and what is raised: see `nodes.search.decision.pod_decision`."""
    return decide_for(snapshot, pod_preemptor(snapshot, namespace, name), strict=strict)


def decide_for(
    snapshot: Snapshot, preemptor: Preemptor, *, limits: Limits = USUAL, strict: bool = False
) -> PreemptionPlanSpec:
    """The plan for a preemptor that the caller has made, of pods that need not be a group in the cluster."""
    return decision.decide_for(as_seen_by(snapshot, preemptor), preemptor, limits=limits, strict=strict)


def as_seen_by(snapshot: Snapshot, preemptor: Preemptor) -> Snapshot:
    """The snapshot in which the room is used that is promised to others of the preemptor's priority or above.

    It asks with the lowest priority of its own and those of its pods that wait.
    """
    asks = min([preemptor.priority, *(int(snapshot.pod_priority[row]) for row in preemptor.unbound)])
    others = [
        plan for plan in snapshot.plans if plan.priority >= asks and not _is_its(snapshot, plan, preemptor)
    ]
    counted = {uid for plan in others for uid in _waiting(snapshot, plan)}
    nominated = [
        (pod, node)
        for pod, node in snapshot.nominated.items()
        if snapshot.pod_priority[pod] >= asks
        and snapshot.pod_node[pod] < 0
        and snapshot.pod_uids[pod] not in counted
        and not _is_member(snapshot, pod, preemptor)
    ]
    return with_promised(snapshot, held_room(snapshot, others), nominated)


def _is_its(snapshot: Snapshot, plan: PlanRoom, preemptor: Preemptor) -> bool:
    """Whether the plan is the preemptor's own. A pod may use what the plan of its group holds."""
    if plan.kind == "Pod":
        return preemptor.kind == "Pod" and plan.uid == preemptor.uid
    name = plan.namespace, plan.name
    if preemptor.kind == "PodGroup" and name == (preemptor.namespace, preemptor.name):
        return True
    return preemptor.group >= 0 and snapshot.group_keys[preemptor.group] == name


def _is_member(snapshot: Snapshot, pod: int, preemptor: Preemptor) -> bool:
    """Whether a nominated pod is one of those that ask."""
    if pod in preemptor.unbound:
        return True
    return (
        preemptor.kind == "PodGroup" and preemptor.group >= 0 and snapshot.pod_group[pod] == preemptor.group
    )


def held_room(snapshot: Snapshot, plans: Sequence[PlanRoom]) -> list[HeldRoom]:
    """What each plan holds. The room of a victim of several plans counts for the plan of the highest priority."""
    owners = victim_owners(plans)
    return [
        HeldRoom(
            [(uid, plan.nodes[uid], _requests(snapshot, uid)) for uid in _waiting(snapshot, plan)],
            [uid for uid in plan.victims if owners[uid] == at and _leaves(snapshot, uid)],
        )
        for at, plan in enumerate(plans)
    ]


def victim_owners(plans: Sequence[PlanRoom]) -> dict[str, int]:
    """By UID of each victim: the place of the plan of the highest priority that evicts it."""
    owners = dict[str, int]()
    ranked = sorted(
        range(len(plans)), key=lambda at: (-plans[at].priority, plans[at].namespace, plans[at].name)
    )
    for at in ranked:
        for uid in plans[at].victims:
            owners.setdefault(uid, at)
    return owners


def _waiting(snapshot: Snapshot, plan: PlanRoom) -> Iterator[str]:
    """UIDs of the planned pods that exist and have no node yet. Room is promised to no others.

    A plan is for pods of its own namespace. One that names others was written by hand: it must not tell of them.
    """
    for uid in plan.nodes:
        row = snapshot.pod_rows.get(uid)
        if row is None or not snapshot.pod_live[row] or snapshot.pod_node[row] >= 0:
            continue
        sets = snapshot.label_sets[int(snapshot.pod_labels[row])]
        if sets is None or sets[0] != plan.namespace:
            continue
        if not int(snapshot.pod_flags[row]) & TERMINATING:
            yield uid


def _leaves(snapshot: Snapshot, uid: str) -> bool:
    """Whether the pod has a node, and will leave it for the plan that evicts it."""
    row = snapshot.pod_rows.get(uid)
    if row is None or not snapshot.pod_live[row] or snapshot.pod_node[row] < 0:
        return False
    flags = int(snapshot.pod_flags[row])
    return not flags & STAYING if flags & TERMINATING else not flags & KEPT


def _requests(snapshot: Snapshot, uid: str) -> dict[str, int]:
    its_class = snapshot.classes[int(snapshot.pod_class[snapshot.pod_rows[uid]])]
    return {**(its_class.requests if its_class is not None else {}), PODS: 1}
