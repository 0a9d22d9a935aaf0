"""Whether a pod set may run on the nodes of a flavor (pkg/scheduler/flavorassigner of Kueue)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from api.core import NodeSelector, NodeSelectorTerm, PodSpec
from api.kueue import ResourceFlavor
from api.selectors import node_selector_matches, tolerates

__all__ = ["mismatch"]

REPELS: Final = frozenset({"NoSchedule", "NoExecute"})


def mismatch(flavor: ResourceFlavor, spec: PodSpec) -> str:
    """Why the pods cannot use this flavor; "" if they can.

    Node selector and required affinity count only for labels that the flavor has. The scheduler looks at other
    labels.
    """
    name, taints = flavor.metadata.name, flavor.spec.node_taints or ()
    tolerations = (*(spec.tolerations or ()), *(flavor.spec.tolerations or ()))
    for taint in taints:
        if taint.effect in REPELS and not any(
            # Kueue compares numbers even if the scheduler's feature gate is off.
            tolerates(toleration, taint, comparisons=True)
            for toleration in tolerations
        ):
            return f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {name}"
    labels = flavor.spec.node_labels or {}
    if _selected(spec.node_selector or {}, labels) and _attracted(spec, labels):
        return ""
    return f"flavor {name} doesn't match node affinity"


def _selected(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(labels[key] == value for key, value in selector.items() if key in labels)


def _attracted(spec: PodSpec, labels: Mapping[str, str]) -> bool:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None or affinity.required is None:
        return True
    terms = []
    for term in affinity.required.node_selector_terms or ():
        known = [each for each in term.match_expressions or () if each.key in labels]
        if not known:
            # Terms are alternatives. No expression of this term is about the flavor's labels, so the flavor may match.
            return True
        terms.append(NodeSelectorTerm(match_expressions=known))
    return not terms or node_selector_matches(NodeSelector(terms), labels, "")
