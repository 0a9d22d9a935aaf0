"""Whether a ClusterQueue takes Workloads of a namespace whose labels are not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from api.core import NAMESPACE_NAME_LABEL
from api.meta import LabelSelector
from api.selectors import selects
from quota.state.snapshot import Queue, QuotaSnapshot

__all__ = ["Namespaces", "taking"]

Namespaces = Mapping[str, Mapping[str, str]]
"""The labels of namespaces, as far as they are known."""


def taking(
    snapshot: QuotaSnapshot, queue: Queue, namespace: str, namespaces: Namespaces
) -> tuple[QuotaSnapshot, tuple[str, ...]]:
    """The snapshot in which the ClusterQueue takes the namespace, if it may, and what is not known about that.

    The label with the name is known of every namespace. If it rules the namespace out, the snapshot is the same.
    """
    selector = queue.spec.namespace_selector
    if namespace in namespaces or selector is None:  # without a selector it takes no namespace
        return snapshot, ()
    by_name, others = _part(selector, named=True), _part(selector, named=False)
    if not selects(by_name, {NAMESPACE_NAME_LABEL: namespace}):
        return snapshot, ()
    spec = msgspec.structs.replace(queue.spec, namespace_selector=LabelSelector())
    world = replace(snapshot, queues={**snapshot.queues, queue.name: replace(queue, spec=spec)})
    if not others.match_labels and not others.match_expressions:
        return world, ()
    return world, (f"labels of Namespace {namespace} (ClusterQueue {queue.name}, spec.namespaceSelector)",)


def _part(selector: LabelSelector, *, named: bool) -> LabelSelector:
    """The requirements about the name of a namespace, or the others."""
    labels, expressions = selector.match_labels or {}, selector.match_expressions or ()
    return LabelSelector(
        match_labels={key: value for key, value in labels.items() if (key == NAMESPACE_NAME_LABEL) == named},
        match_expressions=[each for each in expressions if (each.key == NAMESPACE_NAME_LABEL) == named],
    )
