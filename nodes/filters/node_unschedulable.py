"""NodeUnschedulable: a cordoned node takes only pods that tolerate the taint of cordoned nodes."""

from __future__ import annotations

from typing import ClassVar, Final

from api.core import Pod, Taint
from api.selectors import tolerates
from nodes.filters.filter import NodeShape, StaticFilter

__all__ = ["NodeUnschedulable"]

REASON: Final = "node(s) were unschedulable"
TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(StaticFilter[bool]):
    """Needs: whether the pod does not tolerate the taint."""

    name: ClassVar[str] = "NodeUnschedulable"
    only_marked: ClassVar[bool] = True

    def needs(self, pod: Pod) -> bool | None:
        """True for a pod that does not tolerate the taint; None for a pod that does."""
        tolerations = pod.spec.tolerations
        if tolerations and any(tolerates(toleration, TAINT) for toleration in tolerations):
            return None
        return True

    def refusal(self, needs: bool, node: NodeShape, node_name: str) -> str | None:
        """Refuse a node with `spec.unschedulable`."""
        return REASON if node.unschedulable else None
