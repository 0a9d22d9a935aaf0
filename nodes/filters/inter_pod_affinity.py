"""InterPodAffinity: required affinity and anti-affinity, by any topology, the latter in both directions.

A member's term of anti-affinity keeps the member out of each domain that has a pod that the term selects. A running
pod's term keeps the members that it selects out of the pod's domain. A domain is all nodes with one value of the
term's topology key. Sources: kube-scheduler's interpodaffinity plugin, and for label keys the API server's pod
strategy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

import msgspec
import numpy as np

from api.core import Pod, PodAffinityTerm
from api.meta import LabelSelector, LabelSelectorRequirement
from api.selectors import check_selector, selects
from nodes.filters.counting import Bools, Condition, Counter, CountingFilter, Int64s, Nodes
from nodes.filters.filter import NodeShape, PodFilter, StaticFilter, Tenant, Token
from nodes.filters.terms import Term, with_label_keys

__all__ = ["AFFINITY", "Affinities", "InterPodAffinity", "PodTerm"]

HOSTNAME: Final = "kubernetes.io/hostname"
AFFINITY: Final = "inter-pod affinity"
ANTI_AFFINITY: Final = "inter-pod anti-affinity"
FOREIGN: Final = "anti-affinity of running pods"
UNNOTICED: Final = "anti-affinity by namespaceSelector of a victim: the scheduler does not notice its end"
NO_MATCH: Final = "node(s) didn't match pod affinity rules"
NOTHING: Final = LabelSelector(match_expressions=[LabelSelectorRequirement(key="", operator="In", values=[])])
"""Selects no pod."""


class PodTerm(msgspec.Struct, frozen=True, array_like=True):
    """A modelled term."""

    term: Term
    topology_key: str

    def of(self, namespace: str) -> PodTerm:
        """As `Term.of`."""
        return PodTerm(self.term.of(namespace), self.topology_key)


class Affinities(msgspec.Struct, frozen=True, array_like=True):
    """The required affinity and anti-affinity of a pod."""

    modelled: tuple[PodTerm, ...]
    """Terms of anti-affinity."""
    others: tuple[PodAffinityTerm, ...]
    """Terms of anti-affinity that are not modelled, because a selector is invalid."""
    attracted: tuple[PodTerm, ...]
    """Terms of affinity. Empty if one of them is not modelled."""


class _TermToken(Token):
    __slots__ = ("_whole", "term")

    def __init__(self, term: PodTerm) -> None:
        self._whole, self.term = term, term.term

    @property
    def name(self) -> str:
        """The term."""
        return f"anti-affinity by {self.topology_key}"

    @property
    def topology_key(self) -> str:
        """The key of the term."""
        return self._whole.topology_key

    def _has(self, tenant: Tenant) -> bool:
        return tenant.needs is not None and any(
            term.of(tenant.namespace) == self._whole for term in tenant.needs.modelled
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


class Attraction(Condition):
    """Required affinity: in each term's domain there is a pod that all terms select.

    If they select no pod anywhere, a pod that they select itself may be the first one. A pod that is only promised its
    node may never come, so it does not count: the scheduler asks again without the nominated pods.
    """

    counts_promised: ClassVar[bool] = False

    reason: ClassVar[str] = NO_MATCH

    def __init__(self, terms: Sequence[PodTerm], member: Tenant) -> None:
        self.keys = [each.topology_key for each in terms]
        counter: Counter = tuple(each.term.of(member.namespace) for each in terms)
        self.counters = [counter]
        self._selects_itself = all(term.matches(member) for term in counter)

    def admits(self, nodes: Nodes, counts: Int64s) -> Bools:
        """Which nodes have such a pod in all their domains, or take the first one."""
        labelled = self._labelled(nodes)
        if self._may_be_first(nodes, counts):
            return labelled
        found: Bools = labelled & self._beside(nodes, counts)
        return found

    def admits_amid(self, nodes: Nodes, counts: Int64s, coming: Int64s, own: Int64s) -> Bools:
        """Whoever comes before the first one must be where the first one goes, in each term's domain."""
        labelled = self._labelled(nodes)
        if not self._may_be_first(nodes, counts):
            return labelled & self._beside(nodes, counts)
        every = coming[:, 0].sum()
        together = [nodes.together(key, coming[:, 0]) == every for key in self.keys]
        found: Bools = np.logical_and.reduce([labelled, *together])
        return found

    def could_admit(self, nodes: Nodes, counts: Int64s, members: Int64s) -> Bools:
        """As `admits`. Where a member is selected, every node with the labels."""
        return self._labelled(nodes) if members[0] else self.admits(nodes, counts)

    def reaches(self, nodes: Nodes, fewest: Int64s, most: Int64s, coming: Int64s) -> Bools:
        """Where a pod that is selected is or may come, or where the first one may be."""
        labelled = self._labelled(nodes)
        if self._may_be_first(nodes, fewest):
            return labelled
        found: Bools = labelled & self._beside(nodes, most + coming)
        return found

    def gathers(self, nodes: Nodes, counts: Int64s) -> bool:
        """Whether the first one may be anywhere."""
        return self._may_be_first(nodes, counts)

    @property
    def names(self) -> list[str]:
        """The terms."""
        return [f"affinity by {key}" for key in self.keys]

    def why_not(self, nodes: Nodes, counts: Int64s, node: int) -> str:
        """The first term that selects nobody in the node's domain."""
        for key in self.keys:
            if nodes.places(key)[node] >= 0 and not nodes.together(key, counts[:, 0])[node]:
                here = nodes.value(key, node)
                return f"affinity by {key}: {here} has no pod that it selects"
        return super().why_not(nodes, counts, node)

    def _labelled(self, nodes: Nodes) -> Bools:
        found: Bools = np.logical_and.reduce([nodes.places(key) >= 0 for key in self.keys])
        return found

    def _beside(self, nodes: Nodes, counts: Int64s) -> Bools:
        found: Bools = np.logical_and.reduce([nodes.together(key, counts[:, 0]) > 0 for key in self.keys])
        return found

    def _may_be_first(self, nodes: Nodes, counts: Int64s) -> bool:
        somewhere = any((counts[nodes.places(key) >= 0, 0] > 0).any() for key in self.keys)
        return self._selects_itself and not somewhere


class InterPodAffinity(PodFilter[Affinities], StaticFilter[Affinities], CountingFilter[Affinities]):
    """Needs: the required terms."""

    name: ClassVar[str] = "InterPodAffinity"

    def needs(self, pod: Pod) -> Affinities | None:
        """The pod's terms. None for a pod without required terms.

        A term of anti-affinity without a selector selects no pod, so it is left out.
        """
        if pod.spec.affinity is None:
            return None
        anti = pod.spec.affinity.pod_anti_affinity
        modelled: list[PodTerm] = []
        others: list[PodAffinityTerm] = []
        for term in (anti.required if anti is not None else None) or ():
            if term.label_selector is None:
                continue
            known = _modelled(term, pod)
            if known is None:
                others.append(term)
            elif known not in modelled:
                modelled.append(known)
        terms = _attracted(pod)
        attracted = [each for each in terms if each is not None]
        if not modelled and not others and not attracted:
            return None
        return Affinities(tuple(modelled), tuple(others), tuple(attracted) if None not in terms else ())

    def refusal(self, needs: Affinities, node: NodeShape, node_name: str) -> str | None:
        """Refuse a node without a label that a term of affinity names."""
        return NO_MATCH if any(term.topology_key not in node.labels for term in needs.attracted) else None

    def looks_afar(self, needs: Affinities) -> bool:
        """For affinity, and for anti-affinity in more than the pod's node."""
        wide = any(term.topology_key != HOSTNAME for term in needs.modelled)
        return wide or bool(needs.attracted or needs.others)

    def namespaces_asked(self, needs: Affinities) -> str | None:
        """Name the kind of a term that chooses namespaces by label."""
        if any(each.term.asks_for_labels for each in needs.attracted):
            return AFFINITY
        return ANTI_AFFINITY if any(each.term.asks_for_labels for each in needs.modelled) else None

    def condition(self, member: Tenant) -> Attraction | None:
        """The member's affinity."""
        terms = member.needs.attracted if member.needs is not None else ()
        return Attraction(terms, member) if terms else None

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the terms that are not modelled."""
        named = [AFFINITY] if None in _attracted(pod) else []
        needs = self.needs(pod)
        return [*named, ANTI_AFFINITY] if needs is not None and needs.others else named

    def tokens(self, members: Collection[Tenant], running: Iterable[Tenant]) -> Iterator[Token]:
        """One token for each term of a member, and one for each term of a running pod that selects a member."""
        yield from (Selected(term) for term in _terms(members))
        for term in _terms(running):
            if any(term.term.matches(member) for member in members):
                yield Repelling(term)

    def unmodelled_between(self, running: Tenant, member: Tenant) -> str | None:
        """Name a term of the running pod that is not modelled and could select the member on some node."""
        return FOREIGN if self.conflict_keys(running, member) else None

    def unnoticed_between(self, victim: Tenant, member: Tenant) -> str | None:
        """Name a term of one of them that selects the other one by the labels of its namespace."""
        pairs = ((victim, member), (member, victim))
        unnoticed = any(
            term.term.of(asking.namespace).is_unnoticed(other)
            for asking, other in pairs
            for term in (asking.needs.modelled if asking.needs is not None else ())
        )
        return UNNOTICED if unnoticed else None

    def conflict_keys(self, running: Tenant, member: Tenant) -> set[str]:
        """The keys of the terms of the running pod that nobody can judge and that could select the member: they are
        not modelled, or choose namespaces by labels that are not known."""
        keys = {
            term.topology_key
            for term in running.needs.others
            if _names_namespace(term, running.namespace, member.namespace)
            and _could_select(term, member.labels)
        }
        unsure = (each for each in running.needs.modelled if each.term.is_unsure(member))
        return keys | {each.topology_key for each in unsure}

    def reaches(self, running: Tenant, member: Tenant) -> bool:
        """Whether a term of the running pod could keep the member off other nodes too."""
        wide = (each for each in running.needs.modelled if each.topology_key != HOSTNAME)
        return bool(self.conflict_keys(running, member)) or any(
            each.term.of(running.namespace).matches(member) for each in wide
        )


def _attracted(pod: Pod) -> list[PodTerm | None]:
    """The terms of affinity; None for each term that is not modelled."""
    affinity = pod.spec.affinity.pod_affinity if pod.spec.affinity is not None else None
    return [_modelled(term, pod) for term in (affinity.required if affinity is not None else None) or ()]


def _modelled(term: PodAffinityTerm, pod: Pod) -> PodTerm | None:
    """The modelled form of a pod's term, or None if it is not modelled."""
    chosen = term.namespace_selector
    selector = with_label_keys(
        term.label_selector or NOTHING,
        pod.metadata.labels or {},
        term.match_label_keys or (),
        term.mismatch_label_keys or (),
    )
    try:
        if term.label_selector is not None:
            check_selector(selector)
        if chosen is not None:
            check_selector(chosen)
    except ValueError:
        return None
    named = tuple(sorted(set(term.namespaces or ())))
    return PodTerm(Term(selector, named, chosen), term.topology_key)


def _terms(tenants: Iterable[Tenant]) -> list[PodTerm]:
    """Each different term once, in an order that does not depend on the order of the pods."""
    terms: dict[bytes, PodTerm] = {}
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
