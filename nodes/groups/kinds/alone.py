"""Pods that have a domain of the cluster for themselves.

Sources: setExclusiveAffinities in pkg/webhooks of kubernetes-sigs/jobset, SetExclusiveAffinities in pkg/webhooks of
kubernetes-sigs/lws. There the first pod gets the terms, and the others get the labels of its node. Here all get the
terms, which allows the same nodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from api.core import Affinity, PodAffinity, PodAffinityTerm, PodSpec, Toleration
from api.meta import LabelSelector, LabelSelectorRequirement

__all__ = ["Alone", "OnMarkedNodes", "key_of", "with_alone"]


class Alone(NamedTuple):
    """What keeps pods of one value of a label together, and pods of its other values away."""

    topology: str
    """The label of nodes that makes the domains."""
    label: str
    value: str
    """What the pods have at the label."""
    everywhere: bool
    """Whether pods of other namespaces count."""


class OnMarkedNodes(NamedTuple):
    """Somebody has labelled the nodes of the domain beforehand, and may have tainted them."""

    label: str
    """The label of the nodes."""
    value: str
    taint: str
    """The key of the taint, with the effect NoSchedule."""


def key_of(namespace: str, name: str) -> str:
    """The value of such a label for one Job, or for one leader."""
    return hashlib.sha1(f"{namespace}/{name}".encode(), usedforsecurity=False).hexdigest()


def with_alone(spec: PodSpec, alone: Sequence[Alone | OnMarkedNodes]) -> PodSpec:
    """The spec with the terms of each, or the node selector and the toleration."""
    for each in alone:
        if isinstance(each, OnMarkedNodes):
            toleration = Toleration(key=each.taint, operator="Exists", effect="NoSchedule")
            spec = replace(
                spec,
                node_selector={**(spec.node_selector or {}), each.label: each.value},
                tolerations=[*(spec.tolerations or ()), toleration],
            )
            continue
        its = [LabelSelectorRequirement(each.label, "In", [each.value])]
        others = [
            LabelSelectorRequirement(each.label, "Exists"),
            LabelSelectorRequirement(each.label, "NotIn", [each.value]),
        ]
        affinity = spec.affinity or Affinity()
        spec = replace(
            spec,
            affinity=replace(
                affinity,
                pod_affinity=_with_term(affinity.pod_affinity, each, its),
                pod_anti_affinity=_with_term(affinity.pod_anti_affinity, each, others),
            ),
        )
    return spec


def _with_term(
    known: PodAffinity | None, alone: Alone, selects: list[LabelSelectorRequirement]
) -> PodAffinity:
    term = PodAffinityTerm(
        topology_key=alone.topology,
        label_selector=LabelSelector(match_expressions=selects),
        namespace_selector=LabelSelector() if alone.everywhere else None,
    )
    before = known.required if known is not None else None
    return PodAffinity(required=[*(before or ()), term])
