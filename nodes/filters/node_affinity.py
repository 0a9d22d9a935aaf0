"""NodeAffinity: the node selector and the required node affinity; both must hold."""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from api.core import NodeSelector, Pod
from api.selectors import node_selector_matches
from nodes.filters.filter import NodeShape, StaticFilter

__all__ = ["NodeAffinity"]

REASON: Final = "node(s) didn't match Pod's node affinity/selector"


class Selection(NamedTuple):
    """`spec.nodeSelector`, and the required part of `spec.affinity.nodeAffinity`."""

    labels: dict[str, str]
    required: NodeSelector | None


class NodeAffinity(StaticFilter[Selection]):
    """Needs: which nodes the pod selects."""

    name: ClassVar[str] = "NodeAffinity"

    def needs(self, pod: Pod) -> Selection | None:
        """The pod's node selection. None for a pod that selects every node."""
        spec = pod.spec
        affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        required = affinity.required if affinity is not None else None
        labels = spec.node_selector or {}
        return Selection(labels, required) if labels or required is not None else None

    def refusal(self, needs: Selection, node: NodeShape, node_name: str) -> str | None:
        """Refuse a node that lacks a label of the selector, or that no term of the affinity selects."""
        if any(node.labels.get(key) != value for key, value in needs.labels.items()):
            return REASON
        if needs.required is not None and not node_selector_matches(needs.required, node.labels, node_name):
            return REASON
        return None
