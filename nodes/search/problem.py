"""From a snapshot and a preemptor to the arrays that `native` searches, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from native.nodes.problem import Problem
from nodes.search.conditions import Conditions
from nodes.search.costs import Stuck, domain_terms, unit_terms
from nodes.search.gangs import BoundDomain, bound_domain
from nodes.search.preemptor import Preemptor
from nodes.search.tokens import Tokens
from nodes.search.units import Units, candidates
from nodes.state.classes import admits
from nodes.state.snapshot import Exclusion, Snapshot

__all__ = [
    "EXCLUDED",
    "Admission",
    "Built",
    "Cluster",
    "Layout",
    "MisplacedError",
    "build",
    "lay_out",
    "shapes_of",
]

Rows = NDArray[np.intp]
Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOWHERE: Final[Mapping[int, Bools]] = MappingProxyType({})

EXCLUDED: Final = "excluded"
"""Why a node is refused that the filters admit: a scheduler did not take a pod of the class there."""


class MisplacedError(Exception):
    """The bound members leave no domain for the other members. Retry after a bound member is gone."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The preemptor's domains, sorted by value.

    `nodes[first[d]:first[d + 1]]` are the rows of the nodes of domain d, sorted by node name.
    """

    topology_key: str | None
    values: list[str | None]
    first: list[int]
    nodes: Rows
    astray: str = ""
    """Which members are bound outside of the only domain: see `BoundDomain`."""

    def of(self, domain: int) -> Rows:
        """Rows of the domain's nodes."""
        return self.nodes[self.first[domain] : self.first[domain + 1]]


class Admission:
    """Which nodes admit a class of pods, by the static filters and the exclusions. All of the search asks here.

    Every class and node is asked about once.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._refusals: dict[int, list[str | None]] = {}
        self._masks: dict[int, Bools] = {}

    def refusals(self, pod_class: int) -> list[str | None]:
        """[N], for each row of the nodes why the node refuses the class. None if it admits the class."""
        known = self._refusals.get(pod_class)
        if known is None:
            its_class = self._snapshot.classes[pod_class]
            shapes = zip(self._snapshot.node_shapes, self._snapshot.node_names, strict=True)
            known = self._refusals[pod_class] = [
                "no node" if shape is None or its_class is None else admits(its_class, shape, name)
                for shape, name in shapes
            ]
            for class_row, node in self._snapshot.excluded:
                if class_row == pod_class and known[node] is None:
                    known[node] = EXCLUDED
        return known

    def mask(self, pod_class: int) -> Bools:
        """[N], True where the class is admitted."""
        known = self._masks.get(pod_class)
        if known is None:
            refusals = self.refusals(pod_class)
            known = self._masks[pod_class] = np.array([refusal is None for refusal in refusals], np.bool_)
        return known


class Cluster:
    """One preemptor's view of the snapshot: its domains, the resources and tokens that matter, and the free room.

    R counts only the resources that an unbound member requests.
    """

    def __init__(self, snapshot: Snapshot, preemptor: Preemptor, layout: Layout) -> None:
        self.snapshot, self.preemptor, self.layout = snapshot, preemptor, layout
        self.admission = Admission(snapshot)
        self.stuck: Stuck | None = None
        """Who would have to evict somebody to run elsewhere, if the score asks for that: see `nodes.search.cascade`."""
        classes = snapshot.pod_class[list(preemptor.unbound)]
        self.columns = np.flatnonzero((snapshot.class_requests[classes] > 0).any(axis=0))
        """Columns of the resources that a member requests. No other resource can keep a member off a node."""

    def asking_with(self, preemptor: Preemptor) -> Cluster:
        """The same view for a preemptor with the same unbound members in another order. What is known is shared."""
        other = copy(self)
        other.preemptor = preemptor
        return other

    @cached_property
    def requests(self) -> Int64s:
        """[C, R], the requests of each class."""
        return np.ascontiguousarray(self.snapshot.class_requests[:, self.columns])

    @cached_property
    def leaving(self) -> Int64s:
        """[N, R], the room that terminating pods will free."""
        return self.snapshot.leaving[:, self.columns]

    @cached_property
    def free(self) -> Int64s:
        """[N, R], the free room with terminating pods gone. May be negative."""
        s = self.snapshot
        return s.allocatable[:, self.columns] - s.used[:, self.columns] + self.leaving

    @cached_property
    def tokens(self) -> Tokens:
        """The tokens that keep the unbound members away from other pods and from one another."""
        return Tokens(self.snapshot, self.preemptor.unbound)

    @cached_property
    def conditions(self) -> Conditions:
        """What the unbound members ask of the pods on all nodes."""
        return Conditions(self.snapshot, self.preemptor.unbound)

    @property
    def resources(self) -> list[str]:
        """The names of the R resources."""
        return [self.snapshot.resources[column] for column in self.columns]

    def request(self, pod: int) -> Int64s:
        """[R], what the pod requests."""
        row: Int64s = self.requests[self.snapshot.pod_class[pod]]
        return row

    def mask(self, pod: int) -> Bools:
        """[N], the nodes that admit the pod by the static filters, and from which it is not excluded."""
        return self.admission.mask(int(self.snapshot.pod_class[pod]))

    def refusals(self, pod: int) -> list[str | None]:
        """[N], why a static filter refuses each node for the pod, or EXCLUDED; None where the node admits it."""
        return self.admission.refusals(int(self.snapshot.pod_class[pod]))

    def exclusion(self, pod: int, node: int) -> Exclusion | None:
        """What was seen, if the pod is excluded from the node."""
        return self.snapshot.excluded.get((int(self.snapshot.pod_class[pod]), node))

    def free_without(self, pods: NDArray[np.integer]) -> Int64s:
        """[N, R], the room of `free` with these pods gone too."""
        room = self.free.copy()
        s = self.snapshot
        bound = pods[s.pod_node[pods] >= 0]
        np.add.at(room, s.pod_node[bound], self.requests[s.pod_class[bound]])
        return room


def lay_out(snapshot: Snapshot, preemptor: Preemptor) -> Layout:
    """The domains that the preemptor may be in. Raises MisplacedError if its bound members leave no domain."""
    rows = np.flatnonzero(snapshot.node_live).tolist()
    if preemptor.among is not None:
        rows = [row for row in rows if snapshot.node_names[row] in preemptor.among]
    domains = _domains_of(snapshot, preemptor, rows)
    values: list[str | None] = [None]
    fixed = _bound_domain(snapshot, preemptor, domains)
    if fixed is not None:
        values = [fixed.value]
    elif preemptor.topology_key is not None:
        values = [*sorted({value for value in domains.values() if value is not None})]
    place = {value: index for index, value in enumerate(values)}
    chosen = sorted(
        (place[value], snapshot.node_names[row], row) for row, value in domains.items() if value in place
    )
    counts = np.bincount([index for index, _, _ in chosen], minlength=len(values))
    first = [0, *np.cumsum(counts).tolist()]
    nodes = np.array([row for *_, row in chosen], np.intp)
    return Layout(preemptor.topology_key, values, first, nodes, fixed.astray if fixed is not None else "")


def _domains_of(snapshot: Snapshot, preemptor: Preemptor, nodes: list[int]) -> dict[int, str | None]:
    """The domain of each node, or None. For a single pod, every node is a domain."""
    key, names, shapes = preemptor.topology_key, snapshot.node_names, snapshot.node_shapes
    if key is None:
        return dict.fromkeys(nodes)
    if preemptor.kind == "Pod":
        return {row: names[row] if shapes[row] is not None else None for row in nodes}
    return {row: None if (shape := shapes[row]) is None else shape.labels.get(key) for row in nodes}


def _bound_domain(
    snapshot: Snapshot, preemptor: Preemptor, domains: dict[int, str | None]
) -> BoundDomain | None:
    """The domain of the bound members; None if no member is bound, or without domains.

    Raises MisplacedError if every bound member is on a node without the label.
    """
    if preemptor.topology_key is None or not preemptor.bound:
        return None
    where: dict[str | None, list[str]] = {}
    for pod in preemptor.bound:
        where.setdefault(domains.get(int(snapshot.pod_node[pod])), []).append(snapshot.pod_names[pod])
    found = bound_domain(preemptor.topology_key, where)
    if found is None:
        first = preemptor.bound[0]
        node = snapshot.node_names[int(snapshot.pod_node[first])]
        raise MisplacedError(
            f"pod {snapshot.pod_names[first]} is bound to {node}, which has no {preemptor.topology_key}"
        )
    return found


@dataclass(frozen=True, slots=True)
class Built:
    """A problem and the meaning of its rows. Nodes and members are rows of the snapshot."""

    problem: Problem
    units: Units
    nodes: Rows
    shapes: list[list[int]]
    """Members of each shape, in the order in which the search places them."""


def build(cluster: Cluster, *, strict: bool, within: Mapping[int, Bools] = NOWHERE) -> Built:
    """The problem for the required members. It leaves out nodes that admit no required member.

    `within` narrows the nodes of some members [N].
    """
    preemptor, layout, snapshot = cluster.preemptor, cluster.layout, cluster.snapshot
    shapes = shapes_of(cluster, preemptor.required, within)
    conditions = cluster.conditions
    masks: Bools = np.array(
        [cluster.mask(members[0]) & conditions.could_admit(members[0]) for members in shapes], np.bool_
    )
    for mask, members in zip(masks, shapes, strict=True):
        mask &= within.get(members[0], True)
    first = [members[0] for members in shapes]
    tokens = cluster.tokens
    wanted: Bools = np.logical_or.reduce(masks)[layout.nodes]
    nodes = layout.nodes[wanted]
    before = _running(wanted)
    inside = np.zeros(len(snapshot.node_names), np.bool_)
    inside[nodes] = True
    below = preemptor.priority if preemptor.evicts else np.iinfo(np.int64).min
    priced = partial(unit_terms, snapshot, stuck=cluster.stuck)
    units = candidates(snapshot, int(below), inside, but=preemptor.group, strict=strict, priced=priced)
    problem = Problem(
        domains=before[layout.first].astype(np.int32),
        free=np.ascontiguousarray(cluster.free[nodes]),
        leaving=np.ascontiguousarray(cluster.leaving[nodes]),
        requests=np.ascontiguousarray([cluster.request(pod) for pod in first], np.int64),
        counts=np.array([len(members) for members in shapes], np.int32),
        admitted=np.ascontiguousarray(masks[:, nodes].astype(np.uint8)),
        held=np.ascontiguousarray(tokens.held()[nodes]),
        held_by_leaving=np.ascontiguousarray(tokens.leaving()[nodes]),
        brings=np.ascontiguousarray([tokens.brings[pod] for pod in first], np.int32),
        forbids=np.ascontiguousarray([tokens.forbids[pod] for pod in first], np.int32),
        unit_priority=units.priority,
        unit_start=units.start,
        unit_pods=units.size.astype(np.int32),
        **_pieces(cluster, units, nodes),
        **_budgets(snapshot, units),
        unit_terms=np.ascontiguousarray(units.terms),
        domain_terms=domain_terms(snapshot, layout.first, layout.nodes),
    )
    return Built(problem, units, nodes, shapes)


def shapes_of(
    cluster: Cluster, members: Iterable[int], within: Mapping[int, Bools] = NOWHERE
) -> list[list[int]]:
    """The unbound members grouped by equal requests, admitted nodes and tokens, in the order of their first members."""
    shapes: dict[tuple[bytes, ...], list[int]] = {}
    keys: dict[int, tuple[bytes, bytes]] = {}
    alike: dict[tuple[int, int], list[int]] = {}
    tokens = cluster.tokens
    for pod in members:
        its_class = int(cluster.snapshot.pod_class[pod])
        kind = its_class, int(cluster.snapshot.pod_labels[pod])
        if not within and kind in alike:
            alike[kind].append(pod)
            continue
        if its_class not in keys:
            keys[its_class] = (cluster.request(pod).tobytes(), cluster.mask(pod).tobytes())
        apart = (tokens.brings[pod].tobytes(), tokens.forbids[pod].tobytes(), _conditions_key(cluster, pod))
        inside = within[pod].tobytes() if pod in within else b""
        alike[kind] = shapes.setdefault((*keys[its_class], *apart, inside), [])
        alike[kind].append(pod)
    return list(shapes.values())


def _conditions_key(cluster: Cluster, pod: int) -> bytes:
    """Equal for members with equal conditions, and that count alike for those of others."""
    conditions, snapshot = cluster.conditions, cluster.snapshot
    if not len(conditions):
        return b""
    own = (int(snapshot.pod_class[pod]), int(snapshot.pod_labels[pod])) if conditions.of[pod] else (-1, -1)
    return bytes(np.array(own)) + bytes(conditions.brings[pod])


def _pieces(cluster: Cluster, units: Units, nodes: Rows) -> dict[str, NDArray[np.signedinteger]]:
    """The pieces: the part of one unit on one of the problem's nodes, sorted by unit and then by node."""
    snapshot = cluster.snapshot
    index = np.full(len(snapshot.node_names), -1, np.int64)
    index[nodes] = np.arange(len(nodes))
    node = index[snapshot.pod_node[units.pods]]
    unit = np.repeat(np.arange(len(units)), units.size)
    here = node >= 0
    wide = _wide_tokens(cluster, units, unit, nodes)
    node, unit, pods = node[here], unit[here], units.pods[here]
    key = np.concatenate([unit, wide[:, 0]]) * max(1, len(nodes)) + np.concatenate([node, wide[:, 1]])
    inverse = np.arange(len(key))
    if not (key[1:] > key[:-1]).all():
        key, inverse = np.unique(key, return_inverse=True)
    room = np.zeros((len(key), len(cluster.columns)), np.int64)
    np.add.at(room, inverse[: len(unit)], cluster.requests[snapshot.pod_class[pods]])
    tokens = np.zeros((len(key), len(cluster.tokens)), np.int32)
    if len(cluster.tokens):
        brought = cluster.tokens.brought_by(pods)
        brought[:, list(cluster.tokens.wide)] = 0
        np.add.at(tokens, inverse[: len(unit)], brought)
        np.add.at(tokens, (inverse[len(unit) :], wide[:, 2]), 1)
    holding, token = np.nonzero(tokens)
    piece_unit, piece_node = np.divmod(key, max(1, len(nodes)))
    return {
        "unit_pieces": np.searchsorted(piece_unit, np.arange(len(units) + 1)).astype(np.int32),
        "piece_unit": piece_unit.astype(np.int32),
        "piece_node": piece_node.astype(np.int32),
        "piece_room": room,
        "piece_tokens": np.searchsorted(holding, np.arange(len(key) + 1)).astype(np.int32),
        "token": token.astype(np.int32),
        "token_pods": tokens[holding, token],
        "node_pieces": _running(np.bincount(piece_node, minlength=len(nodes))).astype(np.int32),
        "node_piece": np.argsort(piece_node, kind="stable").astype(np.int32),
    }


def _wide_tokens(cluster: Cluster, units: Units, unit: Rows, nodes: Rows) -> Int64s:
    """Rows of (unit, node, token): a pod of the unit brings the token to the node, being in the same domain.

    Such a pod may run on another node, so a unit may have a piece without room there.
    """
    found = [np.zeros((0, 3), np.int64)]
    brought = cluster.tokens.brought_by(units.pods) if cluster.tokens.wide else np.zeros((0, 0), np.int32)
    for token, places in cluster.tokens.wide.items():
        bringing = np.flatnonzero(brought[:, token])
        domain = places[cluster.snapshot.pod_node[units.pods[bringing]]]
        for place in np.unique(domain[domain >= 0]).tolist():
            there, who = np.flatnonzero(places[nodes] == place), unit[bringing[domain == place]]
            pairs = np.stack(np.meshgrid(who, there, indexing="ij"), axis=-1).reshape(-1, 2)
            found.append(np.column_stack([pairs, np.full(len(pairs), token)]))
    return np.concatenate(found).astype(np.int64)


def _budgets(snapshot: Snapshot, units: Units) -> dict[str, NDArray[np.signedinteger]]:
    """How many pods of each unit count against which budget. Pods in the budget's disruptedPods do not count."""
    wide = max(1, len(snapshot.budgets))
    unit, row = _draws(snapshot, units)
    drawn, pods = np.unique(unit * wide + row, return_counts=True)
    return {
        "unit_budgets": np.searchsorted(drawn, np.arange(len(units) + 1) * wide).astype(np.int32),
        "budget": (drawn % wide).astype(np.int32),
        "budget_pods": pods.astype(np.int32),
        "allowed": np.array([budget.allowed if budget else 0 for budget in snapshot.budgets], np.int64),
    }


def _draws(snapshot: Snapshot, units: Units) -> tuple[Int64s, Int64s]:
    """One entry for each pod of a unit and each budget that it counts against: the unit, and the budget's row."""
    budgets = snapshot.budgets
    selecting = [[row for row in rows if budgets[row] is not None] for rows in snapshot.label_budgets]
    flat = np.array([row for rows in selecting for row in rows], np.int64)
    counts = np.array([len(rows) for rows in selecting], np.int64)
    labels = snapshot.pod_labels[units.pods]
    each = counts[labels]
    inside = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    row = flat[np.repeat(_running(counts)[labels], each) + inside]
    unit = np.repeat(np.repeat(np.arange(len(units)), units.size), each)
    disrupted = {i: each.disrupted for i, each in enumerate(budgets) if each is not None and each.disrupted}
    if disrupted:
        names = [snapshot.pod_names[pod] for pod in np.repeat(units.pods, each).tolist()]
        pairs = zip(row.tolist(), names, strict=True)
        kept = np.array([name not in disrupted.get(budget, ()) for budget, name in pairs], np.bool_)
        unit, row = unit[kept], row[kept]
    return unit, row


def _running(counts: NDArray[np.integer] | Bools) -> Int64s:
    """Running sums: entry i is the sum of the first i counts."""
    sums = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums
