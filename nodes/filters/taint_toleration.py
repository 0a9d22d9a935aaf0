"""TaintToleration: a pod tolerates every taint of its node with the effect NoSchedule or NoExecute."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from api.core import Pod, Toleration
from api.selectors import tolerates
from nodes.filters.filter import NodeShape, StaticFilter

__all__ = ["REASON", "TaintToleration"]

REASON: Final = "node(s) had untolerated taint(s)"
EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
KNOWN_OPERATORS: Final = frozenset({"", "Equal", "Exists"})


class TaintToleration(StaticFilter[tuple[Toleration, ...]]):
    """Needs: the tolerations."""

    name: ClassVar[str] = "TaintToleration"
    only_marked: ClassVar[bool] = True
    stricter: ClassVar[frozenset[str]] = frozenset({"toleration operator Gt", "toleration operator Lt"})

    def needs(self, pod: Pod) -> tuple[Toleration, ...]:
        """The tolerations. Every hard taint refuses a pod without tolerations."""
        return tuple(pod.spec.tolerations or ())

    def refusal(self, needs: tuple[Toleration, ...], node: NodeShape, node_name: str) -> str | None:
        """Refuse a node with a hard taint that no toleration covers."""
        for taint in node.taints:
            if taint.effect in EFFECTS and not any(tolerates(toleration, taint) for toleration in needs):
                return REASON
        return None

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the operators that the scheduler knows only with a feature gate."""
        return [
            f"toleration operator {toleration.operator}"
            for toleration in pod.spec.tolerations or ()
            if toleration.operator not in KNOWN_OPERATORS
        ]
