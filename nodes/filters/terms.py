"""Terms that select pods by namespace and labels, as affinity and spread have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from api.meta import LabelSelector, LabelSelectorRequirement
from api.selectors import selects
from nodes.filters.filter import Tenant

__all__ = ["Term", "with_label_keys"]


class Term(msgspec.Struct, frozen=True, array_like=True):
    """Selects pods."""

    selector: LabelSelector
    """A valid selector. It includes the requirements that stand for `matchLabelKeys` and `mismatchLabelKeys`."""
    namespaces: tuple[str, ...]
    """Sorted. Empty means the namespace of the pod that has the term."""
    everywhere: bool
    """True for an empty `namespaceSelector`, which selects every namespace."""

    def of(self, namespace: str) -> Term:
        """The same term. If it names no namespace, it gets the given namespace of its pod."""
        if self.everywhere or self.namespaces:
            return self
        return Term(self.selector, (namespace,), False)

    def matches(self, tenant: Tenant) -> bool:
        """Whether the term selects the pod. Call `of` first, so that the term has its namespaces."""
        inside = self.everywhere or tenant.namespace in self.namespaces
        return inside and selects(self.selector, tenant.labels)


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
