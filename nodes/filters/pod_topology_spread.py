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
from nodes.filters.counting import Bools, Condition, Counter, CountingFilter, Int64s, Nodes
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
    unmodelled: ClassVar[str] = SPREAD

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
        self._counting: list[tuple[Bools, NDArray[np.intp]]] = []

    def admits(self, nodes: Nodes, counts: Int64s) -> Bools:
        """Which nodes keep the balance."""
        admitted = self._labelled(nodes)
        for place, each in enumerate(self._spread.constraints):
            counting, domains = self._counting_nodes(nodes)[place]
            sums = nodes.sums(each.topology_key, counts[:, place] * counting)
            fewest = 0 if len(domains) < each.min_domains else int(sums[domains].min(initial=2**31 - 1))
            beside = sums[nodes.places(each.topology_key)]
            admitted &= beside + self._own[place] - fewest <= each.max_skew
        return admitted

    def could_admit(self, nodes: Nodes, counts: Int64s, members: Int64s) -> Bools:
        """Every node with the labels: pods that go and members that come change the balance."""
        return self._labelled(nodes)

    def _labelled(self, nodes: Nodes) -> Bools:
        found: Bools = np.logical_and.reduce(
            [nodes.places(each.topology_key) >= 0 for each in self._spread.constraints]
        )
        return found

    def _counting_nodes(self, nodes: Nodes) -> list[tuple[Bools, NDArray[np.intp]]]:
        """For each constraint [N], whether the pods on a node count, and the places of the nodes that count.

        As in the scheduler, no pod counts for a selector that selects everything.
        """
        if not self._counting:
            selected, tolerated = self._policies(nodes)
            labelled = self._labelled(nodes)
            for each in self._spread.constraints:
                here = labelled & selected if each.honors_affinity else labelled
                here = here & tolerated if each.honors_taints else here
                chosen = each.selector is not None and bool(
                    each.selector.match_labels or each.selector.match_expressions
                )
                self._counting.append((here & chosen, np.unique(nodes.places(each.topology_key)[here])))
        return self._counting

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
