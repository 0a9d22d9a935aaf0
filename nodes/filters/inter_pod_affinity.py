"""InterPodAffinity: required anti-affinity by host name, in both directions.

The search does not model other topologies and pod affinity. The filter only names them.

A member's term keeps the member off each node that has a pod that the term selects. A running pod's term keeps the
members that it selects off the pod's node. Sources: kube-scheduler's interpodaffinity plugin, and for label keys the
API server's pod strategy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import ClassVar, Final

import msgspec

from api.core import Pod, PodAffinityTerm
from api.meta import LabelSelector, LabelSelectorRequirement
from api.selectors import check_selector, selects
from nodes.filters.filter import NodeShape, PodFilter, Tenant, Token

__all__ = ["AntiAffinity", "InterPodAffinity", "Term"]

HOSTNAME: Final = "kubernetes.io/hostname"
AFFINITY: Final = "inter-pod affinity"
ANTI_AFFINITY: Final = "inter-pod anti-affinity"
FOREIGN: Final = "anti-affinity of running pods"
HOSTNAMES: Final = "inter-pod anti-affinity on nodes without a host name label of their own"


class Term(msgspec.Struct, frozen=True, array_like=True):
    """A modelled term of anti-affinity by host name."""

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


class AntiAffinity(msgspec.Struct, frozen=True, array_like=True):
    """The required anti-affinity of a pod."""

    modelled: tuple[Term, ...]
    others: tuple[PodAffinityTerm, ...]
    """Terms that are not modelled: another topology, namespaces chosen by label, or an invalid selector."""


class _TermToken(Token):
    __slots__ = ("term",)

    def __init__(self, term: Term) -> None:
        self.term = term

    def _has(self, tenant: Tenant) -> bool:
        return tenant.needs is not None and any(
            term.of(tenant.namespace) == self.term for term in tenant.needs.modelled
        )


class Selected(_TermToken):
    """A member's term. Members with the term forbid the token; pods that the term selects bring it."""

    __slots__ = ()
    reason: ClassVar[str] = "node(s) didn't match pod anti-affinity rules"
    by_labels: ClassVar[bool] = True

    def brought_by(self, tenant: Tenant) -> bool:
        """The term selects the pod."""
        return self.term.matches(tenant)

    def forbidden_by(self, tenant: Tenant) -> bool:
        """The pod has the term."""
        return self._has(tenant)


class Repelling(_TermToken):
    """A running pod's term. Pods with the term bring the token; members that the term selects forbid it."""

    __slots__ = ()
    reason: ClassVar[str] = "node(s) didn't satisfy existing pods anti-affinity rules"
    by_labels: ClassVar[bool] = False

    def brought_by(self, tenant: Tenant) -> bool:
        """The pod has the term."""
        return self._has(tenant)

    def forbidden_by(self, tenant: Tenant) -> bool:
        """The term selects the pod."""
        return self.term.matches(tenant)


class InterPodAffinity(PodFilter[AntiAffinity]):
    """Needs: the required anti-affinity terms."""

    name: ClassVar[str] = "InterPodAffinity"

    def needs(self, pod: Pod) -> AntiAffinity | None:
        """The pod's terms. None for a pod without required anti-affinity.

        A term without a selector selects no pod, so it is left out.
        """
        anti = pod.spec.affinity.pod_anti_affinity if pod.spec.affinity is not None else None
        terms = anti.required if anti is not None else None
        if not terms:
            return None
        modelled: list[Term] = []
        others: list[PodAffinityTerm] = []
        for term in terms:
            if term.label_selector is None:
                continue
            known = _modelled(term, term.label_selector, pod.metadata.labels or {})
            if known is None:
                others.append(term)
            elif known not in modelled:
                modelled.append(known)
        return AntiAffinity(tuple(modelled), tuple(others)) if modelled or others else None

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name required pod affinity, and anti-affinity that is not modelled."""
        if pod.spec.affinity is None:
            return ()
        affinity, needs = pod.spec.affinity.pod_affinity, self.needs(pod)
        named = [AFFINITY] if affinity is not None and affinity.required else []
        return [*named, ANTI_AFFINITY] if needs is not None and needs.others else named

    def tokens(self, members: Collection[Tenant], running: Iterable[Tenant]) -> Iterator[Token]:
        """One token for each term of a member, and one for each term of a running pod that selects a member."""
        yield from (Selected(term) for term in _terms(members))
        for term in _terms(running):
            if any(term.matches(member) for member in members):
                yield Repelling(term)

    def unmodelled_between(self, running: Tenant, member: Tenant) -> str | None:
        """Name a term of the running pod that is not modelled and could select the member on some node."""
        could = any(
            _names_namespace(term, running.namespace, member.namespace) and _could_select(term, member.labels)
            for term in running.needs.others
        )
        return FOREIGN if could else None

    def unmodelled_on(self, nodes: Iterable[NodeShape]) -> str | None:
        """Name missing or shared host name labels. The scheduler compares labels, but the tokens compare nodes."""
        names = [node.labels.get(HOSTNAME) for node in nodes]
        return HOSTNAMES if None in names or len(set(names)) < len(names) else None


def _modelled(term: PodAffinityTerm, selector: LabelSelector, labels: Mapping[str, str]) -> Term | None:
    """The modelled form of a pod's term, or None if it is not modelled. `labels` are the labels of that pod."""
    if term.topology_key != HOSTNAME:
        return None
    namespaces = term.namespace_selector
    everywhere = namespaces is not None
    if namespaces is not None and (namespaces.match_labels or namespaces.match_expressions):
        return None  # the mirror has no labels of namespaces
    selector = _with_label_keys(term, selector, labels)
    try:
        check_selector(selector)
    except ValueError:
        return None
    return Term(selector, () if everywhere else tuple(sorted(set(term.namespaces or ()))), everywhere)


def _with_label_keys(
    term: PodAffinityTerm, selector: LabelSelector, labels: Mapping[str, str]
) -> LabelSelector:
    """The selector with the requirements that the API server adds for label keys when a pod is created.

    Each such requirement has one value. If the selector has one for the key already, an API server added it. Then it
    stays as it is, because the pod's label may have changed since.
    """
    expressions = list(selector.match_expressions or ())
    present = {(each.key, each.operator) for each in expressions if len(each.values or ()) == 1}
    keys = [(key, "In") for key in term.match_label_keys or ()]
    keys += [(key, "NotIn") for key in term.mismatch_label_keys or ()]
    expressions += [
        LabelSelectorRequirement(key=key, operator=operator, values=[labels[key]])
        for key, operator in keys
        if key in labels and (key, operator) not in present
    ]
    return LabelSelector(match_labels=selector.match_labels, match_expressions=expressions or None)


def _terms(tenants: Iterable[Tenant]) -> list[Term]:
    """Each different term once, in an order that does not depend on the order of the pods."""
    terms: dict[bytes, Term] = {}
    for tenant in tenants:
        for term in tenant.needs.modelled if tenant.needs is not None else ():
            resolved = term.of(tenant.namespace)
            terms.setdefault(msgspec.json.encode(resolved, order="deterministic"), resolved)
    return [terms[key] for key in sorted(terms)]


def _names_namespace(term: PodAffinityTerm, own: str, other: str) -> bool:
    """Whether the term could apply in the namespace `other`.

    A term with neither field means the pod's own namespace. A namespace selector may select any namespace.
    """
    if term.namespace_selector is not None or other in (term.namespaces or ()):
        return True
    return not term.namespaces and own == other


def _could_select(term: PodAffinityTerm, labels: Mapping[str, str]) -> bool:
    """Whether the term could select these labels. True for an invalid selector, because nobody knows."""
    if term.label_selector is None:
        return False
    try:
        check_selector(term.label_selector)
    except ValueError:
        return True
    return selects(term.label_selector, labels)
