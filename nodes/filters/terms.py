"""Terms that select pods by namespace and labels, as affinity and spread have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from api.meta import LabelSelector, LabelSelectorRequirement
from api.selectors import selects
from nodes.filters.filter import Tenant

__all__ = ["Term", "with_label_keys", "with_own_labels"]


class Term(msgspec.Struct, frozen=True, array_like=True):
    """Selects pods."""

    selector: LabelSelector
    """A valid selector. It includes the requirements that stand for `matchLabelKeys` and `mismatchLabelKeys`."""
    namespaces: tuple[str, ...]
    """Sorted. Empty means the namespace of the pod that has the term."""
    chosen: LabelSelector | None
    """`namespaceSelector`, a valid one: it adds the namespaces that it selects. An empty one selects every namespace;
    None adds none."""

    @property
    def asks_for_labels(self) -> bool:
        """Whether it depends on a namespace's labels if the namespace is chosen."""
        return self.chosen is not None and not _is_empty(self.chosen)

    def of(self, namespace: str) -> Term:
        """The same term. If it names no namespace, it gets the given namespace of its pod."""
        if self.chosen is not None or self.namespaces:
            return self
        return Term(self.selector, (namespace,), None)

    def matches(self, tenant: Tenant) -> bool:
        """Whether the term selects the pod. Call `of` first, so that the term has its namespaces.

        A namespace whose labels are not known is selected by an empty selector only: see `is_unsure`.
        """
        return self._chooses(tenant) is True and selects(self.selector, tenant.labels)

    def is_unsure(self, tenant: Tenant) -> bool:
        """Whether the term would select the pod if the unknown labels of its namespace are right."""
        return self._chooses(tenant) is None and selects(self.selector, tenant.labels)

    def is_unnoticed(self, tenant: Tenant) -> bool:
        """Whether the term selects the pod, and kube-scheduler does not notice that this ends when a pod goes.

        It then asks the term without the labels of the namespace (isSchedulableAfterAssignedPodChange, 1.37.1).
        """
        return self.matches(tenant) and self._chooses(tenant._replace(namespace_labels={})) is not True

    def _chooses(self, tenant: Tenant) -> bool | None:
        """Whether the pod's namespace is one of the term's; None if nobody knows."""
        if tenant.namespace in self.namespaces:
            return True
        if self.chosen is None:
            return False
        if _is_empty(self.chosen):
            return True
        return None if tenant.namespace_labels is None else selects(self.chosen, tenant.namespace_labels)


def _is_empty(selector: LabelSelector) -> bool:
    return not selector.match_labels and not selector.match_expressions


def with_label_keys(
    selector: LabelSelector, labels: Mapping[str, str], keys: Iterable[str] = (), without: Iterable[str] = ()
) -> LabelSelector:
    """The selector with the requirements that the API server adds for label keys when a pod is created.

    `keys` are `matchLabelKeys`, and `without` are `mismatchLabelKeys`. Each such requirement has one value. If the
    selector has one for the key already, an API server added it. Then it stays as it is, because the pod's label may
    have changed since.
    """
    expressions = list(selector.match_expressions or ())
    present = {(each.key, each.operator) for each in expressions if len(each.values or ()) == 1}
    wanted = [(key, "In") for key in keys] + [(key, "NotIn") for key in without]
    expressions += [
        LabelSelectorRequirement(key=key, operator=operator, values=[labels[key]])
        for key, operator in wanted
        if key in labels and (key, operator) not in present
    ]
    return LabelSelector(match_labels=selector.match_labels, match_expressions=expressions or None)


def with_own_labels(selector: LabelSelector, labels: Mapping[str, str], keys: Iterable[str]) -> LabelSelector:
    """The selector with what kube-scheduler adds for the `matchLabelKeys` of topology spread: the pod's labels of now.

    What an API server has added stays as well. If the label has changed since, the two select nobody together.
    """
    expressions = list(selector.match_expressions or ())
    for key in keys:
        if key in labels:
            own = LabelSelectorRequirement(key=key, operator="In", values=[labels[key]])
            expressions += [own] if own not in expressions else []
    return LabelSelector(match_labels=selector.match_labels, match_expressions=expressions or None)
