"""One preemptor's view of a snapshot: its domains, which nodes admit its members, and the free room."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from native.nodes._units import free_up
from nodes.search.costs import Stuck
from nodes.search.neighbours.attachments import Attachments
from nodes.search.neighbours.conditions import Conditions
from nodes.search.neighbours.tokens import Tokens
from nodes.search.preemptors.gangs import BoundDomain, bound_domain
from nodes.search.preemptors.preemptor import Preemptor
from nodes.state.columns.classes import NO_NODE, refusals
from nodes.state.columns.flags import STAYING
from nodes.state.snapshot import Exclusion, Snapshot

__all__ = ["EXCLUDED", "Admission", "Cluster", "Layout", "MisplacedError", "lay_out"]

Rows = NDArray[np.intp]
Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

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
            snapshot, its_class = self._snapshot, self._snapshot.classes[pod_class]
            known = self._refusals[pod_class] = (
                [NO_NODE] * len(snapshot.node_names)
                if its_class is None
                else refusals(its_class, snapshot.node_shapes, snapshot.node_names)
            )
            for class_row, node in snapshot.excluded:
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

    R counts only what an unbound member asks for: first resources, then slots for volumes (`Attachments`).
    """

    def __init__(self, snapshot: Snapshot, preemptor: Preemptor, layout: Layout) -> None:
        self.snapshot, self.preemptor, self.layout = snapshot, preemptor, layout
        self.admission = Admission(snapshot)
        self.stuck: Stuck | None = None
        """Who would have to evict somebody to run elsewhere, if the score asks for that: see `nodes.search.cascade`."""
        classes = snapshot.pod_class[list(preemptor.unbound)]
        self._columns = np.flatnonzero((snapshot.class_requests[classes] > 0).any(axis=0))
        """Columns of the resources that a member requests. No other resource can keep a member off a node."""

    def asking_with(self, preemptor: Preemptor) -> Cluster:
        """The same view for a preemptor with the same unbound members in another order. What is known is shared."""
        other = copy(self)
        other.preemptor = preemptor
        return other

    def only(self, domain: int, staying: NDArray[np.integer]) -> Cluster:
        """The same view of one domain alone, in which these pods may not be evicted. What is known is shared."""
        other, layout = copy(self), self.layout
        nodes = layout.of(domain)
        other.layout = replace(layout, values=[layout.values[domain]], first=[0, len(nodes)], nodes=nodes)
        if len(staying):
            flags = self.snapshot.pod_flags.copy()
            flags[staying] |= STAYING
            other.snapshot = replace(self.snapshot, pod_flags=flags)
        return other

    @cached_property
    def attachments(self) -> Attachments:
        """The slots for volumes that the unbound members need."""
        return Attachments(self.snapshot, self.preemptor.unbound)

    @cached_property
    def class_requests(self) -> Int64s:
        """What each class requests of the resources."""
        return np.ascontiguousarray(self.snapshot.class_requests[:, self._columns])

    @cached_property
    def leaving(self) -> Int64s:
        """[N, R], the room that terminating pods will free."""
        leaving = self.snapshot.leaving[:, self._columns]
        return np.hstack([leaving, self.attachments.leaving]) if len(self.attachments) else leaving

    @cached_property
    def free(self) -> Int64s:
        """[N, R], the free room with terminating pods gone. May be negative."""
        s, columns = self.snapshot, self._columns
        free = s.allocatable[:, columns] - s.used[:, columns] + s.leaving[:, columns]
        return np.hstack([free, self.attachments.free]) if len(self.attachments) else free

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
        """The names of the resources, which are the first of the R columns."""
        return [self.snapshot.resources[column] for column in self._columns]

    def request(self, pod: int) -> Int64s:
        """[R], what the member asks for."""
        row: Int64s = self.class_requests[self.snapshot.pod_class[pod]]
        return np.concatenate([row, self.attachments.request(pod)]) if len(self.attachments) else row

    def requests_of(self, pods: NDArray[np.integer]) -> Int64s:
        """[len(pods), R], what each of these members asks for."""
        rows: Int64s = self.class_requests[self.snapshot.pod_class[pods]]
        attachments = self.attachments
        if not len(attachments):
            return rows
        return np.hstack([rows, [attachments.request(pod) for pod in pods.tolist()]])

    def held_by(self, pods: NDArray[np.integer]) -> Int64s:
        """[len(pods), R], the room that each of these bound pods leaves when it goes."""
        rows: Int64s = self.class_requests[self.snapshot.pod_class[pods]]
        return np.hstack([rows, self.attachments.held_by(pods)]) if len(self.attachments) else rows

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
        room, s = np.array(self.free, order="C"), self.snapshot
        if not len(self.attachments):
            rows = pods.astype(np.int64, copy=False)
            free_up(room, rows, s.pod_node, s.pod_class, self.class_requests)
            return room
        bound = pods[s.pod_node[pods] >= 0]
        np.add.at(room, s.pod_node[bound], self.held_by(bound))
        return room


def lay_out(snapshot: Snapshot, preemptor: Preemptor) -> Layout:
    """The domains that the preemptor may be in. Raises MisplacedError if its bound members leave no domain."""
    rows = snapshot.node_order.tolist()
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
    places = np.array([place.get(value, -1) for value in domains.values()], np.intp)
    order = np.argsort(places, kind="stable")  # nodes of one domain stay in the order of their names
    order = order[np.count_nonzero(places < 0) :]
    counts = np.bincount(places[order], minlength=len(values))
    first = [0, *np.cumsum(counts).tolist()]
    nodes = np.array(rows, np.intp)[order]
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
