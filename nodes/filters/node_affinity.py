"""NodeAffinity: the node selector and the required node affinity; both must hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final, NamedTuple

from api.core import NodeSelector, Pod
from api.selectors import node_selector_matches
from nodes.filters.filter import NodeShape, StaticFilter
from nodes.filters.profile import Profile

__all__ = ["NodeAffinity"]

BY_NAME: Final = "affinity by node name without its filter"
ENFORCED: Final = "node(s) didn't match scheduler-enforced node affinity"
REASON: Final = "node(s) didn't match Pod's node affinity/selector"


class Selection(NamedTuple):
    """`spec.nodeSelector`, the required part of `spec.affinity.nodeAffinity`, and what the profile adds."""

    labels: dict[str, str]
    required: NodeSelector | None
    added: NodeSelector | None = None
    """`addedAffinity` of the scheduler's profile."""


class NodeAffinity(StaticFilter[Selection]):
    """Needs: which nodes the pod selects."""

    name: ClassVar[str] = "NodeAffinity"
    local: ClassVar[frozenset[str]] = frozenset({BY_NAME})

    def needs(self, pod: Pod) -> Selection | None:
        """The pod's node selection. None for a pod that selects every node."""
        spec = pod.spec
        affinity = spec.affinity.node_affinity if spec.affinity is not None else None
        required = affinity.required if affinity is not None else None
        labels = spec.node_selector or {}
        return Selection(labels, required) if labels or required is not None else None

    def needs_in(self, profile: Profile, needs: Selection | None) -> Selection | None:
        """With the affinity that the profile adds."""
        if profile.added_affinity is None:
            return needs
        return (needs or Selection({}, None))._replace(added=profile.added_affinity)

    def unmodelled_in(self, profile: Profile, pod: Pod) -> Iterable[str]:
        """The preFilter keeps a pod on the nodes that its affinity names, also without the filter."""
        needs = self.needs(pod)
        terms = (
            needs.required.node_selector_terms if needs is not None and needs.required is not None else None
        )
        names = any(term.match_fields for term in terms or ())
        return (BY_NAME,) if names and self.name in profile.half_off else ()

    def refusal(self, needs: Selection, node: NodeShape, node_name: str) -> str | None:
        """Refuse a node that lacks a label of the selector, or that no term of an affinity selects."""
        if needs.added is not None and not node_selector_matches(needs.added, node.labels, node_name):
            return ENFORCED
        if any(node.labels.get(key) != value for key, value in needs.labels.items()):
            return REASON
        if needs.required is not None and not node_selector_matches(needs.required, node.labels, node_name):
            return REASON
        return None
