"""From the view of a preemptor to the arrays that `native` searches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from native.nodes._units import budgets_of, pieces_of
from native.nodes.problem import Problem
from nodes.search.cluster import Cluster
from nodes.search.costs import domain_terms, unit_terms
from nodes.search.room import count_fits
from nodes.search.units import Units, candidates, in_order
from nodes.state.columns.flags import SEVERAL, UNSELECTED
from nodes.state.snapshot import Snapshot

__all__ = ["Built", "build", "shapes_of"]

Rows = NDArray[np.intp]
Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOWHERE: Final[Mapping[int, Bools]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Built:
    """A problem and the meaning of its rows. Nodes and members are rows of the snapshot."""

    problem: Problem
    units: Units
    """The units of the problem. There are none if the members fit in no domain with everybody gone."""
    everybody: Int64s
    """The pods of all units that may be evicted: rows of the snapshot."""
    nodes: Rows
    shapes: list[list[int]]
    """Members of each shape, in the order in which the search places them."""


class _Asked(NamedTuple):
    """What the required members ask for, by shape."""

    requests: Int64s
    """[S, R]."""
    counts: NDArray[np.int32]
    """[S], members."""
    admitted: Bools
    """[S, N], the nodes of the problem that admit the shape."""

    def fit_nowhere(self, free: Int64s, domains: Int64s) -> bool:
        """Whether in each domain some shape alone does not find its places in this free room [N, R].

        Then nobody has to be put in order for the search. `domains` [D + 1]: the first node of each.
        """
        hopeless = np.zeros(len(domains) - 1, np.bool_)
        for request, count, admitted in zip(self.requests, self.counts.tolist(), self.admitted, strict=True):
            places = _running(count_fits(free, request, count) * admitted)
            hopeless |= np.diff(places[domains]) < count
        return bool(hopeless.all())


def build(
    cluster: Cluster, *, strict: bool, within: Mapping[int, Bools] = NOWHERE, going: Collection[int] = ()
) -> Built:
    """The problem for the required members. It leaves out nodes that admit no required member.

    `within` narrows the nodes of some members [N]. `going`: pods of units that are evicted in any case.
    """
    preemptor, layout, snapshot = cluster.preemptor, cluster.layout, cluster.snapshot
    shapes = shapes_of(cluster, preemptor.required, within)
    conditions = cluster.conditions
    masks: Bools = np.array([cluster.mask(members[0]) for members in shapes], np.bool_)
    inside = np.zeros(len(snapshot.node_names), np.bool_)
    inside[layout.nodes] = np.logical_or.reduce(masks)[layout.nodes]
    below = preemptor.priority if preemptor.evicts else np.iinfo(np.int64).min
    everybody = candidates(snapshot, int(below), inside, but=preemptor.group, strict=strict)
    for mask, members in zip(masks, shapes, strict=True):
        mask &= within.get(members[0], True) & conditions.could_admit(members[0])
    first = [members[0] for members in shapes]
    tokens = cluster.tokens
    wanted: Bools = np.logical_or.reduce(masks)[layout.nodes]
    nodes = layout.nodes[wanted]
    if within or len(conditions) or tokens.wide:
        everybody = _that_matter(cluster, everybody, nodes, going)
    before = _running(wanted)
    domains = before[layout.first]
    asked = _Asked(
        np.ascontiguousarray([cluster.request(pod) for pod in first], np.int64),
        np.array([len(members) for members in shapes], np.int32),
        masks[:, nodes],
    )
    if asked.fit_nowhere(cluster.free_without(everybody.pods)[nodes], domains):
        units = everybody.none(len(snapshot.costs.terms))
    else:
        units = in_order(snapshot, everybody, partial(unit_terms, snapshot, stuck=cluster.stuck))
    must_go = units.of_pods(going)
    held, brings, forbids = _tokens(cluster, first, masks, len(must_go) if going else -1)
    problem = Problem(
        domains=domains.astype(np.int32),
        free=np.ascontiguousarray(cluster.free[nodes]),
        leaving=np.ascontiguousarray(cluster.leaving[nodes]),
        requests=asked.requests,
        counts=asked.counts,
        admitted=np.ascontiguousarray(asked.admitted.astype(np.uint8)),
        held=np.ascontiguousarray(held[nodes]),
        held_by_leaving=np.ascontiguousarray(_wider(tokens.leaving(), held.shape[1])[nodes]),
        brings=brings,
        forbids=forbids,
        unit_priority=units.priority,
        unit_start=units.start,
        unit_pods=units.size.astype(np.int32),
        **_pieces(cluster, units, nodes, must_go),
        **_budgets(snapshot, units),
        unit_terms=np.ascontiguousarray(units.terms),
        domain_terms=domain_terms(snapshot, layout.first, layout.nodes),
    )
    return Built(problem, units, everybody.pods, nodes, shapes)


def _that_matter(cluster: Cluster, units: Units, nodes: Rows, going: Collection[int]) -> Units:
    """The units that hold something on these nodes, that members elsewhere could look at, or that `going` names."""
    inside = np.zeros(len(cluster.snapshot.node_names), np.bool_)
    inside[nodes] = True
    matters = inside[cluster.snapshot.pod_node[units.pods]] | np.isin(units.pods, list(going))
    if len(cluster.conditions):
        matters |= np.isin(units.pods, cluster.conditions.counted)
    if cluster.tokens.wide:
        matters |= cluster.tokens.brought_by(units.pods)[:, list(cluster.tokens.wide)].any(axis=1)
    return units.some(np.logical_or.reduceat(matters, units.first[:-1]) if len(units) else matters)


def _tokens(
    cluster: Cluster, first: Sequence[int], masks: Bools, going: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """What pods hold [N, T], and what the shapes bring and forbid [S, T].

    On nodes without the label of a token, members that forbid it may be together. The kernel does not know that, so a
    shape that such a node of `masks` [S, N] admits does not bring the token: see `nodes.search.spreading`.

    `going` units are evicted in any case: they bring one more token to every node, and all shapes forbid it. -1: none.
    """
    tokens = cluster.tokens
    held = tokens.held()
    brings = np.ascontiguousarray([tokens.brings[pod] for pod in first], np.int32)
    for token, places in tokens.wide.items():
        brings[(masks & (places < 0)).any(axis=1), token] = 0
    forbids = np.ascontiguousarray([tokens.forbids[pod] for pod in first], np.int32)
    if going < 0:
        return held, brings, forbids
    wide = held.shape[1] + 1
    held, brings, forbids = (_wider(each, wide) for each in (held, brings, forbids))
    held[:, -1] = going
    forbids[:, -1] = 1
    return held, brings, forbids


def _wider(rows: NDArray[np.int32], columns: int) -> NDArray[np.int32]:
    """The rows with as many columns; zeros in those that are added."""
    return np.pad(rows, ((0, 0), (0, columns - rows.shape[1])))


def shapes_of(
    cluster: Cluster, members: Iterable[int], within: Mapping[int, Bools] = NOWHERE
) -> list[list[int]]:
    """The unbound members grouped by equal requests, admitted nodes and tokens, in the order of their first members."""
    shapes: dict[tuple[bytes, ...], list[int]] = {}
    keys: dict[tuple[int, bytes], tuple[bytes, bytes]] = {}
    alike: dict[tuple[int, int, bytes], list[int]] = {}
    tokens, attachments, snapshot = cluster.tokens, cluster.attachments, cluster.snapshot
    pods, has_limits = list(members), len(cluster.attachments) > 0
    classes, labels = snapshot.pod_class[pods].tolist(), snapshot.pod_labels[pods].tolist()
    for pod, its_class, labelled in zip(pods, classes, labels, strict=True):
        attached = attachments.request(pod).tobytes() if has_limits else b""
        kind = its_class, labelled, attached
        if not within and kind in alike:
            alike[kind].append(pod)
            continue
        if (its_class, attached) not in keys:
            keys[its_class, attached] = (cluster.request(pod).tobytes(), cluster.mask(pod).tobytes())
        apart = (tokens.brings[pod].tobytes(), tokens.forbids[pod].tobytes(), _conditions_key(cluster, pod))
        inside = within[pod].tobytes() if pod in within else b""
        alike[kind] = shapes.setdefault((*keys[its_class, attached], *apart, inside), [])
        alike[kind].append(pod)
    return list(shapes.values())


def _conditions_key(cluster: Cluster, pod: int) -> bytes:
    """Equal for members with equal conditions, and that count alike for those of others."""
    conditions, snapshot = cluster.conditions, cluster.snapshot
    if not len(conditions):
        return b""
    own = (int(snapshot.pod_class[pod]), int(snapshot.pod_labels[pod])) if conditions.of[pod] else (-1, -1)
    return bytes(np.array(own)) + bytes(conditions.brings[pod])


def _pieces(cluster: Cluster, units: Units, nodes: Rows, going: Rows) -> dict[str, NDArray[np.signedinteger]]:
    """The pieces: the part of one unit on one of the problem's nodes, sorted by unit and then by node.

    `going`: the units that are evicted in any case.
    """
    snapshot = cluster.snapshot
    index = np.full(len(snapshot.node_names), -1, np.int64)
    index[nodes] = np.arange(len(nodes))
    if not len(cluster.tokens) and not len(cluster.attachments) and not len(going):
        none = np.zeros(0, np.int32)
        pieces = pieces_of(
            units.first,
            units.pods,
            snapshot.pod_node,
            snapshot.pod_class,
            cluster.class_requests,
            index,
            len(nodes),
        )
        tokens = np.zeros(len(pieces["piece_unit"]) + 1, np.int32)
        return {**pieces, "piece_tokens": tokens, "token": none, "token_pods": none}
    return _any_pieces(cluster, units, nodes, index, going)


def _any_pieces(
    cluster: Cluster, units: Units, nodes: Rows, index: Int64s, going: Rows
) -> dict[str, NDArray[np.signedinteger]]:
    """The pieces where some pods bring tokens or hold volumes. `index`: the number of each node in the problem."""
    snapshot = cluster.snapshot
    node = index[snapshot.pod_node[units.pods]]
    unit = np.repeat(np.arange(len(units)), units.size)
    here = node >= 0
    wide = np.concatenate(
        [_wide_tokens(cluster, units, unit, nodes), _everywhere(going, len(nodes), len(cluster.tokens))]
    )
    node, unit, pods = node[here], unit[here], units.pods[here]
    key = np.concatenate([unit, wide[:, 0]]) * max(1, len(nodes)) + np.concatenate([node, wide[:, 1]])
    inverse = np.arange(len(key))
    if not (key[1:] > key[:-1]).all():
        key, inverse = np.unique(key, return_inverse=True)
    room = np.zeros((len(key), cluster.free.shape[1]), np.int64)
    np.add.at(room, inverse[: len(unit)], cluster.held_by(pods))
    tokens = np.zeros((len(key), len(cluster.tokens) + bool(len(going))), np.int32)
    if len(cluster.tokens):
        brought = cluster.tokens.brought_by(pods)
        brought[:, list(cluster.tokens.wide)] = 0
        np.add.at(tokens[:, : len(cluster.tokens)], inverse[: len(unit)], brought)
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


def _everywhere(going: Rows, nodes: int, token: int) -> Int64s:
    """As `_wide_tokens`, for a token that these units bring to every node."""
    pairs = np.stack(np.meshgrid(going, np.arange(nodes), indexing="ij"), axis=-1).reshape(-1, 2)
    return np.column_stack([pairs, np.full(len(pairs), token)]).astype(np.int64)


def _budgets(snapshot: Snapshot, units: Units) -> dict[str, NDArray[np.signedinteger]]:
    """How many pods of each unit count against which budget.

    Pods in the budget's disruptedPods do not count, and pods that are exempt do not.
    """
    allowed = np.array([budget.allowed if budget else 0 for budget in snapshot.budgets], np.int64)
    labels, only = snapshot.pod_labels, snapshot.label_budget
    if (only == UNSELECTED).all():
        nobody, nothing = np.zeros(len(units) + 1, np.int32), np.zeros(0, np.int32)
        return {"unit_budgets": nobody, "budget": nothing, "budget_pods": nothing, "allowed": allowed}
    if (only != SEVERAL).all() and not any(each is not None and each.disrupted for each in snapshot.budgets):
        if snapshot.pod_exempt is not None:  # as if no budget selected them
            labels = np.where(snapshot.pod_exempt, len(only), labels).astype(np.int32, copy=False)
            only = np.append(only, np.int32(UNSELECTED))
        return {**budgets_of(units.first, units.pods, labels, only), "allowed": allowed}
    return {**_drawn(snapshot, units), "allowed": allowed}


def _drawn(snapshot: Snapshot, units: Units) -> dict[str, NDArray[np.signedinteger]]:
    """What `_budgets` says without `allowed`, also of pods of several budgets and of those that do not count."""
    wide = max(1, len(snapshot.budgets))
    unit, row = _draws(snapshot, units)
    drawn, pods = np.unique(unit * wide + row, return_counts=True)
    return {
        "unit_budgets": np.searchsorted(drawn, np.arange(len(units) + 1) * wide).astype(np.int32),
        "budget": (drawn % wide).astype(np.int32),
        "budget_pods": pods.astype(np.int32),
    }


def _draws(snapshot: Snapshot, units: Units) -> tuple[Int64s, Int64s]:
    """One entry for each pod of a unit and each budget that it counts against: the unit, and the budget's row."""
    budgets = snapshot.budgets
    selecting = [[row for row in rows if budgets[row] is not None] for rows in snapshot.label_budgets]
    flat = np.array([row for rows in selecting for row in rows], np.int64)
    counts = np.array([len(rows) for rows in selecting], np.int64)
    labels = snapshot.pod_labels[units.pods]
    each = counts[labels]
    if snapshot.pod_exempt is not None:
        each = np.where(snapshot.pod_exempt[units.pods], 0, each)
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
