"""PodTopologySpread: the constraints with DoNotSchedule. Constraints with ScheduleAnyway refuse no node.

The default constraints of a scheduler's profile are only named. kube-scheduler's own ones refuse no node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from api.core import Pod, Toleration, TopologySpreadConstraint
from api.meta import LabelSelector
from api.selectors import check_selector
from api.words import counted
from nodes.filters.counting import MANY, Bools, Condition, Counter, CountingFilter, Int64s, Nodes, Share
from nodes.filters.filter import NodeShape, StaticFilter, Tenant
from nodes.filters.node_affinity import NodeAffinity, Selection
from nodes.filters.profile import Profile
from nodes.filters.taint_toleration import TaintToleration
from nodes.filters.terms import Term, with_own_labels

__all__ = ["PodTopologySpread", "Spread"]

SPREAD: Final = "topology spread (DoNotSchedule)"
BY_DEFAULT: Final = "default topology spread of the scheduler's profile"
NO_LABEL: Final = "node(s) didn't match pod topology spread constraints (missing required label)"


class Constraint(msgspec.Struct, frozen=True, array_like=True):
    """A constraint with its defaults. Nodes count only if the pod selects them (`honors_affinity`), and if it
    tolerates their taints (`honors_taints`)."""

    topology_key: str
    max_skew: int
    min_domains: int
    selector: LabelSelector | None
    honors_affinity: bool
    honors_taints: bool


class Spread(msgspec.Struct, frozen=True, array_like=True):
    """A pod's hard constraints, and what decides which nodes count for them."""

    constraints: tuple[Constraint, ...]
    selection: Selection | None
    tolerations: tuple[Toleration, ...]


class Balance(Condition):
    """For each constraint: with the pod, its domain has at most `max_skew` pods more than the emptiest domain."""

    reason: ClassVar[str] = "node(s) didn't match pod topology spread constraints"

    def __init__(self, spread: Spread, member: Tenant) -> None:
        self._spread = spread
        self.keys = [each.topology_key for each in spread.constraints]
        terms = [
            Term(each.selector or LabelSelector(), (member.namespace,), None) for each in spread.constraints
        ]
        self.counters: Sequence[Counter] = [(term,) for term in terms]
        self._own = [
            each.selector is not None and term.matches(member)
            for each, term in zip(spread.constraints, terms, strict=True)
        ]
        self._counting: dict[Nodes, list[tuple[Bools, NDArray[np.intp]]]] = {}

    @property
    def names(self) -> list[str]:
        """The constraints, with their maxSkew."""
        return [_name(each) for each in self._spread.constraints]

    def admits(self, nodes: Nodes, counts: Int64s) -> Bools:
        """Which nodes keep the balance."""
        admitted = self._labelled(nodes)
        for place, each in enumerate(self._spread.constraints):
            sums, fewest = self._sums(nodes, counts, place)
            beside = sums[nodes.places(each.topology_key)]
            admitted &= beside + self._own[place] - fewest <= each.max_skew
        return admitted

    def admits_amid(self, nodes: Nodes, counts: Int64s, coming: Int64s, own: Int64s) -> Bools:
        """Which nodes keep the balance in the worst case: those in the pod's own domain come first, and no others."""
        admitted = self._labelled(nodes)
        for place, each in enumerate(self._spread.constraints):
            counting, domains = self._counting_nodes(nodes)[place]
            where = nodes.places(each.topology_key)
            sums, fewest = self._sums(nodes, counts, place)
            before = nodes.together(each.topology_key, coming[:, place] * counting) - own[place] * counting
            beside = sums[where] + np.maximum(before, 0)
            if len(domains) >= each.min_domains:
                others = np.sort(sums[domains])
                is_fewest = np.isin(where, domains) & (sums[where] == fewest)
                second = int(others[1]) if len(others) > 1 else MANY
                least = np.where(is_fewest, np.minimum(second, beside), fewest)
            else:
                least = np.full(len(where), fewest)
            admitted &= beside + self._own[place] - least <= each.max_skew
        return admitted

    def could_admit(self, nodes: Nodes, counts: Int64s, members: Int64s) -> Bools:
        """Every node with the labels: pods that go and members that come change the balance."""
        return self._labelled(nodes)

    def reaches(self, nodes: Nodes, fewest: Int64s, most: Int64s, coming: Int64s) -> Bools:
        """Every node with the labels: see `shares`."""
        return self._labelled(nodes)

    def shares(self, nodes: Nodes, fewest: Int64s, most: Int64s, coming: Int64s) -> list[Share]:
        """A domain gets at most `max_skew` more than the emptiest one can ever have."""
        return [self._share(nodes, fewest, most, coming, place) for place in range(len(self.keys))]

    def _share(self, nodes: Nodes, fewest: Int64s, most: Int64s, coming: Int64s, place: int) -> Share:
        each = self._spread.constraints[place]
        counting, domains = self._counting_nodes(nodes)[place]
        least = nodes.sums(each.topology_key, fewest[:, place] * counting)
        full = nodes.sums(each.topology_key, (most[:, place] + coming[:, place]) * counting)
        shortest, emptiest = -1, 0
        if len(domains) >= each.min_domains:
            shortest = int(domains[int(np.argmin(full[domains]))])
            emptiest = int(full[shortest])
        left = each.max_skew + emptiest - least
        if not self._own[place]:
            left = np.where(left >= 0, MANY, 0)
        else:  # on a node that does not count, no member is in the way of the next one
            where = nodes.places(each.topology_key)
            free = np.zeros(len(left), np.bool_)
            free[where[~counting & (where >= 0)]] = True
            left = np.where(free & (left > 0), MANY, np.maximum(left, 0))
        return Share(each.topology_key, nodes.places(each.topology_key), left, place, shortest, _name(each))

    def splits(self, nodes: Nodes) -> list[Bools]:
        """Whether the policies of each constraint let a node count."""
        return self._honored(nodes)

    def why_not(self, nodes: Nodes, counts: Int64s, node: int) -> str:
        """The counts that break the first constraint that is broken."""
        for place, each in enumerate(self._spread.constraints):
            sums, fewest = self._sums(nodes, counts, place)
            where = nodes.places(each.topology_key)
            beside = int(sums[where[node]])
            if where[node] < 0 or beside + self._own[place] - fewest <= each.max_skew:
                continue
            _, domains = self._counting_nodes(nodes)[place]
            here = nodes.value(each.topology_key, node)
            if len(domains) < each.min_domains:
                return f"{_name(each)}: {here} has {beside}, and only {counted(len(domains), 'domain')} count"
            emptiest = int(domains[int(np.argmin(sums[domains]))])
            there = nodes.value(each.topology_key, int(np.flatnonzero(where == emptiest)[0]))
            return f"{_name(each)}: {here} has {beside}, and {there} has {fewest}"
        return super().why_not(nodes, counts, node)

    def _sums(self, nodes: Nodes, counts: Int64s, place: int) -> tuple[Int64s, int]:
        """[places], how many pods count in each place for the constraint, and the least of them."""
        each = self._spread.constraints[place]
        counting, domains = self._counting_nodes(nodes)[place]
        sums = nodes.sums(each.topology_key, counts[:, place] * counting)
        return sums, 0 if len(domains) < each.min_domains else int(sums[domains].min(initial=MANY - 1))

    def _labelled(self, nodes: Nodes) -> Bools:
        found: Bools = np.logical_and.reduce(
            [nodes.places(each.topology_key) >= 0 for each in self._spread.constraints]
        )
        return found

    def _counting_nodes(self, nodes: Nodes) -> list[tuple[Bools, NDArray[np.intp]]]:
        """For each constraint [N], whether the pods on a node count, and the places of the nodes that count.

        As in the scheduler, no pod counts for a selector that selects everything.
        """
        known = self._counting.get(nodes)
        if known is None:
            known = self._counting[nodes] = []
            for each, here in zip(self._spread.constraints, self._honored(nodes), strict=True):
                chosen = each.selector is not None and bool(
                    each.selector.match_labels or each.selector.match_expressions
                )
                known.append((here & chosen, np.unique(nodes.places(each.topology_key)[here])))
        return known

    def _honored(self, nodes: Nodes) -> list[Bools]:
        """For each constraint [N], the nodes that its policies let count."""
        selected, tolerated = self._policies(nodes)
        labelled = self._labelled(nodes)
        found = []
        for each in self._spread.constraints:
            here = labelled & selected if each.honors_affinity else labelled
            found.append(here & tolerated if each.honors_taints else here)
        return found

    def _policies(self, nodes: Nodes) -> tuple[Bools, Bools]:
        """[N], the nodes that the pod selects, and those whose taints it tolerates."""
        affinity, taints, spread = NodeAffinity(), TaintToleration(), self._spread
        selected, tolerated = np.zeros((2, len(nodes.names)), np.bool_)
        for row, (shape, name) in enumerate(zip(nodes.shapes, nodes.names, strict=True)):
            if shape is not None:
                selection = spread.selection
                selected[row] = selection is None or affinity.refusal(selection, shape, name) is None
                tolerated[row] = taints.refusal(spread.tolerations, shape, name) is None
        return selected, tolerated


def _name(constraint: Constraint) -> str:
    least = f", minDomains {constraint.min_domains}" if constraint.min_domains > 1 else ""
    return f"topology spread by {constraint.topology_key} (maxSkew {constraint.max_skew}{least})"


class PodTopologySpread(StaticFilter[Spread], CountingFilter[Spread]):
    """Needs: the hard constraints, with the node selection and the tolerations that their policies look at."""

    name: ClassVar[str] = "PodTopologySpread"

    def needs(self, pod: Pod) -> Spread | None:
        """The pod's hard constraints. None without one, or if a selector is invalid."""
        hard = _hard(pod)
        if not hard or not _valid(hard):
            return None
        labels = pod.metadata.labels or {}
        constraints = [
            Constraint(
                each.topology_key,
                each.max_skew,
                1 if each.min_domains is None else each.min_domains,
                each.label_selector
                and with_own_labels(each.label_selector, labels, each.match_label_keys or ()),
                (each.node_affinity_policy or "Honor") == "Honor",
                each.node_taints_policy == "Honor",
            )
            for each in hard
        ]
        return Spread(tuple(constraints), NodeAffinity().needs(pod), TaintToleration().needs(pod))

    def refusal(self, needs: Spread, node: NodeShape, node_name: str) -> str | None:
        """Refuse a node without a label that a constraint names."""
        return NO_LABEL if any(each.topology_key not in node.labels for each in needs.constraints) else None

    def looks_afar(self, needs: Spread) -> bool:
        """Always."""
        return True

    def condition(self, member: Tenant) -> Balance | None:
        """The member's constraints."""
        return Balance(member.needs, member) if member.needs is not None else None

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name constraints with an invalid selector."""
        return () if _valid(_hard(pod)) else (SPREAD,)

    def unmodelled_in(self, profile: Profile, pod: Pod) -> Iterable[str]:
        """Name the profile's default constraints: they select pods by Services and owners, which are not read."""
        return (
            (BY_DEFAULT,) if profile.spreads_by_default and not pod.spec.topology_spread_constraints else ()
        )


def _hard(pod: Pod) -> list[TopologySpreadConstraint]:
    constraints = pod.spec.topology_spread_constraints or ()
    return [each for each in constraints if each.when_unsatisfiable == "DoNotSchedule"]


def _valid(constraints: Iterable[TopologySpreadConstraint]) -> bool:
    try:
        for each in constraints:
            if each.label_selector is not None:
                check_selector(each.label_selector)
    except ValueError:
        return False
    return True
