"""Which cluster gets the next turn to preempt.

The cluster with fewer turns in this attempt comes first: so no candidate starves. LeastDisruption then compares what
the clusters say that it costs. A cost that was seen before the last gate opened for the same ClusterQueue there is
stale: the victims that it names may be gone by then. So is one that was seen before that preemption was carried out: it
may name the same victims. A newer one is waited for, within the window. After that, a stale cost is the best that is
known of its cluster, as soon as nobody preempts there any longer. Until then the cluster comes after those that are not
busy: fifty Jobs would all follow it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from api.dispatch_words import cost_text
from api.plan_results import PlanCost
from controllers.multikueue.life.seen import ClusterSeen, Cost

__all__ = ["cost_words", "first", "is_known", "may_be_cheapest", "why_first"]

KNOWN: Final = 0
BUSY: Final = 1
UNKNOWN: Final = 2
EQUAL: Final = 4
"""Fields of a cost that are compared here: priorities, Workloads and pods."""
Key = tuple[int, ...]


def is_known(cluster: ClusterSeen) -> bool:
    """Whether it says what the preemption costs, and that is not stale."""
    return cluster.cost is not None and not _is_stale(cluster, cluster.cost)


def may_be_cheapest(cluster: ClusterSeen, candidates: Sequence[ClusterSeen]) -> bool:
    """Whether a newer cost of the cluster may be less than all that are known. Where the cheap victims are gone, it is
    more than before."""
    known = [each.cost[:EQUAL] for each in candidates if each.cost is not None and is_known(each)]
    return cluster.cost is None or all(cluster.cost[:EQUAL] < each for each in known)


def first(
    candidates: Sequence[ClusterSeen],
    turns: Mapping[str, int],
    signals: Mapping[str, int],
    *,
    by_cost: bool,
) -> ClusterSeen:
    """The candidate whose turn is next. `candidates` are in the config's order, and not empty. `turns`: by cluster, in
    this attempt. `signals`: since when each is a candidate."""
    at = {each.name: index for index, each in enumerate(candidates)}

    def key(cluster: ClusterSeen) -> tuple[int, Key, int, int]:
        cost = _cost_key(cluster) if by_cost else ()
        return turns.get(cluster.name, 0), cost, signals.get(cluster.name, 0), at[cluster.name]

    return min(candidates, key=key)


def why_first(
    winner: ClusterSeen, candidates: Sequence[ClusterSeen], turns: Mapping[str, int], *, by_cost: bool
) -> str:
    """One sentence."""
    if len(candidates) == 1:
        return f"{winner.name} is the only cluster that asks to preempt."
    mine = turns.get(winner.name, 0)
    others = [each for each in candidates if each.name != winner.name]
    if all(turns.get(each.name, 0) > mine for each in others):
        return f"The other clusters had more turns than {winner.name}."
    if by_cost and all(
        _cost_key(each) > _cost_key(winner) for each in others if turns.get(each.name, 0) == mine
    ):
        return f"{winner.name}: {cost_words(winner)}. That is the least."
    return f"{winner.name} asked first, of the clusters that cost the same or do not say what it costs."


def cost_words(cluster: ClusterSeen) -> str:
    """What the preemption there costs, in words."""
    cost = cluster.cost
    if cost is None:
        return "it does not say what the preemption costs"
    words = cost_text(
        PlanCost(cost.highest_priority, cost.priority_sum, cost.workloads, cost.pods, cost.pod_seconds)
    )
    if cluster.is_busy:
        return f"{words}, and another Workload preempts there first"
    return f"{words}, as it said before another gate opened there" if _is_stale(cluster, cost) else words


def _cost_key(cluster: ClusterSeen) -> Key:
    cost = cluster.cost
    if cost is None:
        return (UNKNOWN,)
    if cluster.is_busy:
        return BUSY, cluster.open_gates
    return (
        KNOWN,
        cost.highest_priority,
        cost.priority_sum,
        cost.workloads,
        cost.pods,
        cluster.open_gates,
        cost.pod_seconds,
    )


def _is_stale(cluster: ClusterSeen, cost: Cost) -> bool:
    return cluster.is_busy or cost.seen <= cluster.last_opened
