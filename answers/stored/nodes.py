"""The nodes that a plan names: what leaves them, what comes, and what stays. The rest of that moment is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.plans import PreemptionPlanSpec

__all__ = ["PlannedNode", "nodes_of"]


@dataclass(slots=True)
class PlannedNode:
    """A node before and after the plan."""

    name: str
    leaving: list[str] = field(default_factory=list)
    """NAMESPACE/NAME of the pods that are victims."""
    coming: list[str] = field(default_factory=list)
    """NAMESPACE/NAME of the preemptor's pods that are to run there."""
    staying: list[str] | None = None
    """NAMESPACE/NAME of the pods that stay and that the reader may know; None if that is not known (any longer)."""
    others_stay: bool = False
    """Whether more pods stay, which the reader may not know."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.name,
            "leaving": self.leaving,
            "coming": self.coming,
            "staying": self.staying,
            "othersStay": self.others_stay,
        }


def nodes_of(
    spec: PreemptionPlanSpec, staying: Mapping[str, Sequence[str | None]] | None = None
) -> list[PlannedNode]:
    """The nodes by name. `spec`: as the reader may know it. `staying`: the pods that stay by node; None in place of
    one that the reader may not know."""
    found = dict[str, PlannedNode]()

    def of(name: str) -> PlannedNode:
        return found.setdefault(name, PlannedNode(name))

    for victim in spec.victims:
        for pod in victim.pods:
            if pod.node and pod.name:
                of(pod.node).leaving.append(f"{pod.namespace}/{pod.name}")
    for placed in spec.placements:
        of(placed.node).coming.append(f"{spec.preemptor.namespace}/{placed.pod}")
    if staying is not None:
        for node in found.values():
            pods = staying.get(node.name, ())
            node.staying = sorted(each for each in pods if each is not None)
            node.others_stay = any(each is None for each in pods)
    return [found[name] for name in sorted(found)]
