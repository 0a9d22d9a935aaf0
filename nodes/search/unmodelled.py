"""What a plan does not take into account, in words. A plan with victims is Blocked by it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from api.plans import PreemptionPlanSpec
from nodes.filters.registry import POD_FILTERS
from nodes.search.kinds import Kinds
from nodes.search.problem import Cluster
from nodes.search.tokens import interested
from nodes.state.snapshot import Snapshot, is_leaving

__all__ = ["not_modelled", "why_blocked"]


def why_blocked(spec: PreemptionPlanSpec) -> str:
    """Why the victims of the plan are not evicted. Empty if they may be evicted, or if there are no victims."""
    blocked = spec.outcome == "Preempts" and bool(spec.not_modelled)
    return f"not modelled: {', '.join(spec.not_modelled)}" if blocked else ""


def not_modelled(cluster: Cluster, members: Collection[int], gone: list[int]) -> list[str]:
    """Names of what the plan does not take into account, sorted.

    The filters may see a feature of these members that they do not model. A pod that stays may conflict with a member
    in a way that no filter models. `gone` are the pods of the victims: they conflict with no member.
    """
    snapshot = cluster.snapshot
    classes = {int(row) for row in snapshot.pod_class[list(members)]}
    names = {name for row in classes if (each := snapshot.classes[row]) for name in each.unmodelled}
    names.update(_between(snapshot, members, gone))
    return sorted(names)


def _between(snapshot: Snapshot, members: Collection[int], gone: list[int]) -> Iterator[str]:
    """What bound pods, neither going nor victims, could have against a member."""
    staying = snapshot.pod_live & (snapshot.pod_node >= 0) & ~is_leaving(snapshot.pod_flags)
    staying[gone] = False
    bound = np.flatnonzero(staying)
    mine = Kinds(snapshot, np.array(list(members), np.intp))
    for place, each in POD_FILTERS:
        theirs = Kinds(snapshot, bound[interested(snapshot, place)[snapshot.pod_class[bound]]])
        members_seen = mine.tenants(place)
        for running in theirs.tenants(place):
            for member in members_seen:
                if (name := each.unmodelled_between(running, member)) is not None:
                    yield name
