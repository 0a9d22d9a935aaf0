"""Who holds the room of nodes, and to whom it is promised, as far as a reader may know.

Promised room is a function of the plans that are carried out and of their members that wait. What a reader may not see
is one amount for each node and resource.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from answers.names import Names
from nodes.answers.asking import held_room
from nodes.search.promised import HeldRoom, with_promised
from nodes.state.columns.flags import Bools, Int64s, is_leaving
from nodes.state.snapshot import PlanRoom, Snapshot

__all__ = ["Promise", "Rooms"]


@dataclass(frozen=True, slots=True)
class Promise:
    """What a plan holds. Its preemptor is of a namespace whose pods the reader may list."""

    plan: PlanRoom
    pods: NDArray[np.intp]
    """Rows of its members that wait."""
    nodes: NDArray[np.intp]
    """Rows of the nodes that it gives them, as `pods`. Each exists."""
    victims: NDArray[np.intp]
    """Rows of the pods that are evicted for it, as far as the reader may list them."""


class Rooms:
    """The nodes, as one reader may know them. N nodes, P pods, R resources, in the units of the snapshot."""

    def __init__(self, snapshot: Snapshot, names: Names) -> None:
        self.snapshot = snapshot
        self._names = names
        self._held = held_room(snapshot, snapshot.plans)

    def sees(self, namespace: str) -> bool:
        """Whether the reader may know of the pods of this namespace."""
        return self._names.lists("pods", namespace)

    # ---- pods

    @cached_property
    def seen(self) -> Bools:
        """[P], the pods that exist and that the reader may list."""
        sets = self.snapshot.label_sets
        may = np.array([each is not None and self.sees(each[0]) for each in sets], np.bool_)
        seen: Bools = self.snapshot.pod_live & may[self.snapshot.pod_labels]
        return seen

    @cached_property
    def bound(self) -> NDArray[np.intp]:
        """Rows of those that are bound to a node which exists."""
        rows = np.flatnonzero(self.seen & (self.snapshot.pod_node >= 0))
        return rows[self.snapshot.node_live[self.snapshot.pod_node[rows]]]

    def requests(self, pods: NDArray[np.intp]) -> Int64s:
        """[len(pods), R]"""
        requests: Int64s = self.snapshot.class_requests[self.snapshot.pod_class[pods]]
        return requests

    def leave(self, pods: NDArray[np.intp]) -> Bools:
        """[len(pods)], which of them terminate and leave their room."""
        return is_leaving(self.snapshot.pod_flags[pods])

    # ---- room of nodes, each [N, R]

    @cached_property
    def used(self) -> Int64s:
        """What those pods request."""
        return self._by_node(self.bound)

    @cached_property
    def leaving(self) -> Int64s:
        """The part of `used` of pods that terminate."""
        return self._by_node(self.bound[self.leave(self.bound)])

    @cached_property
    def promised(self) -> Int64s:
        """What waiting members of plans request where they are planned, as far as the reader may know of the plans.

        Victims that have not gone yet may still use that room.
        """
        found = np.zeros_like(self.snapshot.used)
        for each in self.promises:
            np.add.at(found, each.nodes, self.requests(each.pods))
        return found

    @cached_property
    def anonymous(self) -> Int64s:
        """What is used by others or promised to them: all that is neither free nor of somebody the reader may see."""
        hidden = [held for plan, held in self._plans if not self.sees(plan.namespace)]
        anonymous: Int64s = self.snapshot.used - self.used + self._claimed(hidden)
        return anonymous

    @cached_property
    def free(self) -> Int64s:
        """What is neither used nor promised. Every reader gets the same."""
        rest = self.snapshot.allocatable - self.snapshot.used - self._claimed(self._held)
        free: Int64s = np.maximum(rest, 0)
        return free

    def _by_node(self, pods: NDArray[np.intp]) -> Int64s:
        found = np.zeros_like(self.snapshot.used)
        np.add.at(found, self.snapshot.pod_node[pods], self.requests(pods))
        return found

    def _claimed(self, held: Sequence[HeldRoom]) -> Int64s:
        """What plans claim and their victims do not cover."""
        claimed: Int64s = with_promised(self.snapshot, held, []).used - self.snapshot.used
        return claimed

    # ---- plans

    @property
    def _plans(self) -> Sequence[tuple[PlanRoom, HeldRoom]]:
        return [*zip(self.snapshot.plans, self._held, strict=True)]

    @cached_property
    def promises(self) -> Sequence[Promise]:
        """The plans that hold room or have victims, by namespace and name of the preemptor."""
        snapshot = self.snapshot
        nodes = {snapshot.node_names[row]: row for row in snapshot.node_order.tolist()}
        found = [self._promise(plan, held, nodes) for plan, held in self._plans if self.sees(plan.namespace)]
        return sorted(found, key=lambda each: (each.plan.namespace, each.plan.name, each.plan.uid))

    def _promise(self, plan: PlanRoom, held: HeldRoom, nodes: dict[str, int]) -> Promise:
        rows = self.snapshot.pod_rows
        claims = [(rows[uid], nodes[name]) for uid, name, _ in held.claims if name in nodes]
        pods, planned = np.array(sorted(claims), np.intp).reshape(-1, 2).T
        victims = sorted(row for uid in plan.victims if (row := rows.get(uid)) is not None)
        gone = np.array(victims, np.intp)
        return Promise(plan, pods, planned, gone[np.isin(gone, self.bound)])
