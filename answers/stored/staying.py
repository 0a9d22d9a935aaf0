"""Who stays although a plan is made, and why: as long as nobody has left for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from answers.picture import Picture
from answers.withholding import Reader
from api.plans import PreemptionPlan, PreemptionPlanSpec
from api.stored_plans import phase_of
from nodes.groups.keys import short_name
from nodes.search.survivors import Survivor, survivors
from nodes.state.columns.flags import TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = ["Staying", "Unit", "staying"]

BEFORE: Final = ("", "Planned", "Confirmed", "Observed")
"""Phases in which nobody has left yet for the plan."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One that stays, and that the reader may know."""

    kind: Literal["PodGroup", "Pod"]
    name: str
    """NAMESPACE/NAME."""
    priority: int
    pods: int
    why: str

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "kind": self.kind,
            "name": self.name,
            "priority": self.priority,
            "pods": self.pods,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Staying:
    """Those with a pod in the domain of the plan."""

    units: Sequence[Unit]
    """Those nearest to an eviction come first."""
    others: bool
    """Whether more stay, which the reader may not know."""
    by_node: Mapping[str, Sequence[str | None]]
    """NAMESPACE/NAME of their pods by node; None in place of one that the reader may not know."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {"units": [each.plain() for each in self.units], "others": self.others}


def staying(
    picture: Picture, plan: PreemptionPlan, readable: PreemptionPlanSpec, reader: Reader
) -> Staying | None:
    """Who stays; None if that is not known, or not any longer. `readable`: the decision as the reader may know it."""
    if plan.spec.outcome != "Preempts" or plan.spec.preemptor.kind == "Workload" or picture.looked is None:
        return None
    snapshot = picture.looked.snapshot
    if phase_of(plan) not in BEFORE or not _all_run(snapshot, plan.spec) or not reader.lists("nodes"):
        return None
    is_exact = _is_exact(plan.spec, readable)
    units, others = list[Unit](), False
    for each in survivors(snapshot, plan.spec).units:
        namespace = each.name.partition("/")[0]
        is_known = reader.may_name("Pod", namespace)
        others = others or not is_known
        if is_known:
            units.append(_unit(each, reader, namespace, is_exact=is_exact))
    return Staying(units, others, _by_node(snapshot, plan.spec, reader))


def _by_node(
    snapshot: Snapshot, spec: PreemptionPlanSpec, reader: Reader
) -> Mapping[str, Sequence[str | None]]:
    """The pods that stay on the nodes that the plan names, also on those outside of its domain."""
    victims = {pod.uid for victim in spec.victims for pod in victim.pods}
    gone = [row for uid in victims if (row := snapshot.pod_rows.get(uid)) is not None]
    named = {each.node for each in spec.placements} | {pod.node for each in spec.victims for pod in each.pods}
    here = [row for row, name in enumerate(snapshot.node_names) if name in named]
    stays = snapshot.pod_live & np.isin(snapshot.pod_node, here) & (snapshot.pod_flags & TERMINATING == 0)
    stays[gone] = False
    found = defaultdict[str, list[str | None]](list)
    for row in np.flatnonzero(stays).tolist():
        namespace = snapshot.pod_namespaces[row]
        name = f"{namespace}/{snapshot.pod_names[row]}" if reader.may_name("Pod", namespace) else None
        found[_node(snapshot, row)].append(name)
    return found


def _is_exact(spec: PreemptionPlanSpec, readable: PreemptionPlanSpec) -> bool:
    """Whether the reader may know the cut-off."""
    return readable.priority_cutoff == spec.priority_cutoff


def _unit(each: Survivor, reader: Reader, namespace: str, *, is_exact: bool) -> Unit:
    """The reason has no cut-off and no budget that the reader may not know."""
    exact = is_exact and reader.may_name("PodDisruptionBudget", namespace)
    return Unit(
        each.kind,
        short_name(each.name),
        each.priority,
        len(each.pods),
        each.why if exact else each.reason.text,
    )


def _all_run(snapshot: Snapshot, spec: PreemptionPlanSpec) -> bool:
    """Whether all victims run where the plan says, and none of the preemptor's pods has a node yet."""
    for pod in (pod for victim in spec.victims for pod in victim.pods):
        row = snapshot.pod_rows.get(pod.uid)
        if row is None or int(snapshot.pod_flags[row]) & TERMINATING or _node(snapshot, row) != pod.node:
            return False
    placed = (snapshot.pod_rows.get(each.uid) for each in spec.placements)
    return all(row is None or int(snapshot.pod_node[row]) < 0 for row in placed)


def _node(snapshot: Snapshot, row: int) -> str:
    """The name of the pod's node; empty if it has none."""
    node = int(snapshot.pod_node[row])
    return (snapshot.node_names[node] or "") if node >= 0 else ""
