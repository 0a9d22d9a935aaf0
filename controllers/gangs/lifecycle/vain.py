"""Evictions in vain: what ended plans that evicted say of a gang and of nodes. Pure functions.

A plan was in vain if it evicted somebody and did not lead to Bound, unless the gang's next plan went on with the room
that it made, a plan of higher priority took that room, or the gang was deleted. Only the next decision shows which, so
the verdict is stored then, as the condition `InVain` of the ended plan. Whoever leads next reads it there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from api.plans import PreemptionPlanSpec
from controllers.gangs.lifecycle.life import Former, RoomMade
from controllers.gangs.lifecycle.stored_plan import StoredPlan

__all__ = ["History", "continues", "history", "room_made", "taken_until"]

MOST_DOUBLINGS: Final = 7
"""Ten minutes become 21 hours at most."""


def room_made(
    spec: PreemptionPlanSpec,
    *,
    went: Callable[[str], bool],
    overdue: Callable[[str], bool],
    settled: Collection[str],
    changed: Collection[str] = (),
    taken: Collection[str] = (),
) -> RoomMade:
    """What the evictions of an ended plan came to, as the cluster is now.

    `went`: whether a victim (UID) is gone or terminates. `overdue`: whether it terminates for too long. `settled`:
    nodes where members of the gang are bound. `changed`: nodes whose labels, taints, unschedulable or allocatable have
    changed since the plan began to evict: nobody could know that. `taken`: nodes where pods that never asked us took
    the room.
    """
    placed = {each.node for each in spec.placements if not each.beyond_min_count}
    gone = [pod for victim in spec.victims for pod in victim.pods if went(pod.uid)]
    stuck = {pod.node for pod in gone if overdue(pod.uid)}
    nodes = frozenset(pod.node for pod in gone) & placed - stuck - frozenset(changed)
    return RoomMade(len(gone), nodes, nodes - frozenset(settled), nodes & frozenset(taken))


def continues(former: Former, room: RoomMade, spec: PreemptionPlanSpec) -> bool:
    """Whether the next plan (`spec`) goes on with the room that the former plan made.

    It does if both hold on every node where the former plan placed members, where victims of it are gone or leave in
    time, and that has not changed since; and if there is such a node:

    - A member that minCount needs is placed there, or a member of the gang is bound there.
    - Nobody goes there who was no victim of the former plan: otherwise somebody has taken the room that it made.
    """
    if not room.nodes or spec.outcome not in ("Fits", "Preempts"):
        return False
    placed = {each.node for each in spec.placements if not each.beyond_min_count}
    known = {pod.uid for victim in former.spec.victims for pod in victim.pods}
    others = {pod.node for victim in spec.victims for pod in victim.pods if pod.uid not in known}
    return room.open <= placed and not room.nodes & others


@dataclass(frozen=True, slots=True)
class History:
    """What a gang's stored plans say. Times are seconds since the epoch."""

    vain: int = 0
    """Evicting plans in vain since it was last Bound."""
    at: float = 0.0
    """Of the last verdict."""
    generation: int = 0
    """Of the PodGroup at that verdict."""
    nodes: frozenset[str] = frozenset()
    """Nodes whose freed room was taken."""
    open: StoredPlan | None = None
    """The last plan that evicted and ended without a verdict."""


def history(plans: Iterable[StoredPlan], preemptor: str) -> History:
    """`preemptor`: the UID of the PodGroup. Plans of another PodGroup of its name say nothing about it."""
    own = sorted((plan for plan in plans if plan.preemptor == preemptor), key=lambda plan: plan.touched)
    bound = max((plan.bound for plan in own), default=0.0)
    vain = [plan for plan in own if plan.in_vain is not None and plan.in_vain.at >= bound]
    unjudged = [plan for plan in own if plan.to_judge is not None and plan.touched >= bound]
    verdicts = [plan.in_vain for plan in vain if plan.in_vain is not None]
    last = max(verdicts, key=lambda verdict: verdict.at, default=None)
    return History(
        vain=len(verdicts),
        at=last.at if last is not None else 0.0,
        generation=last.generation if last is not None else 0,
        nodes=frozenset(node for plan in vain for node in plan.status.taken_nodes or ()),
        open=unjudged[-1] if unjudged else None,
    )


def taken_until(plans: Iterable[StoredPlan], seconds: float) -> dict[str, float]:
    """Until when nobody is evicted on a node, because room that was freed there was taken: seconds since the epoch.

    The first time `seconds` long; each further time doubles that.
    """
    times: dict[str, list[float]] = {}
    for plan in plans:
        for node in plan.status.taken_nodes or ():
            if plan.in_vain is not None:
                times.setdefault(node, []).append(plan.in_vain.at)
    return {
        node: max(each) + seconds * 2.0 ** min(len(each) - 1, MOST_DOUBLINGS) for node, each in times.items()
    }
