"""Room that is promised: what the members of a plan will use, from the plan's commit until they are bound or it ends.

The reservation is the authority on who may take freed room; a nominated node name is only a hint to the scheduler.
Requests are mappings from resource name to the scheduler's integers (cpu in milli), `pods` included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from nodes.state.snapshot import TERMINATING, Snapshot

__all__ = ["Claim", "Grants", "Ledger", "Reservation"]

GroupKey = tuple[str, str]
Requests = Mapping[str, int]

GRANT_SECONDS: Final = 30.0
"""How long a pod that our filter let pass counts as on its way; a bind that takes longer has failed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What one pod uses or will use, and on which node."""

    node: str
    requests: Requests


@dataclass(frozen=True, slots=True)
class Reservation:
    """One plan's claims by member UID, and what the pods that leave for it still hold, by victim UID."""

    group: GroupKey
    priority: int
    claims: Mapping[str, Claim]
    victims: Mapping[str, Claim]


@dataclass(slots=True)
class _OnNode:
    """What concerns one node: claims and victims as (group, requests) by pod UID."""

    claims: dict[str, tuple[GroupKey, Requests]] = field(default_factory=dict)
    victims: dict[str, tuple[GroupKey, Requests]] = field(default_factory=dict)


@dataclass(slots=True)
class Grants:
    """Pods that our filter let onto nodes with reserved room and whose binding the mirror has not shown yet.

    The scheduler assumes a pod at once and binds it later; until then only these keep the next pod out of its room.
    """

    clock: Callable[[], float]
    _by_pod: dict[str, tuple[float, frozenset[str], Requests]] = field(default_factory=dict)

    def note(self, pod: str, nodes: Iterable[str], requests: Requests) -> None:
        """The scheduler may put `pod` on any one of `nodes`; an earlier note for the same pod is void."""
        self._by_pod[pod] = (self.clock() + GRANT_SECONDS, frozenset(nodes), requests)

    def settle(self, pod: str) -> None:
        """The mirror shows where the pod is, or that it is gone."""
        self._by_pod.pop(pod, None)

    def expire(self) -> None:
        """Forget pods that should have been bound long ago."""
        now = self.clock()
        for pod in [pod for pod, (until, _, _) in self._by_pod.items() if until < now]:
            del self._by_pod[pod]

    def on(self, node: str, resource: str, *, but: str) -> int:
        """How much of `resource` pods on their way may take on `node`, the pod `but` aside."""
        return sum(
            requests.get(resource, 0)
            for pod, (_, nodes, requests) in self._by_pod.items()
            if pod != but and node in nodes
        )


class Ledger:
    """All reservations, one per group. Who asks with a higher priority than a reservation's does not see it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._held: dict[GroupKey, Reservation] = {}
        self._nodes: dict[str, _OnNode] = {}
        self._claim_node: dict[str, str] = {}
        self._victim_node: dict[str, str] = {}
        self.grants = Grants(clock)

    def hold(self, reservation: Reservation) -> None:
        """Take (or replace) the group's reservation. What another one has of the same pods passes to this one."""
        self.release(reservation.group)
        for uid in (*reservation.claims, *reservation.victims):
            self._drop(uid)
        self._held[reservation.group] = reservation
        for uid, claim in reservation.claims.items():
            self._nodes.setdefault(claim.node, _OnNode()).claims[uid] = (reservation.group, claim.requests)
            self._claim_node[uid] = claim.node
        for uid, claim in reservation.victims.items():
            self._nodes.setdefault(claim.node, _OnNode()).victims[uid] = (reservation.group, claim.requests)
            self._victim_node[uid] = claim.node

    def release(self, group: GroupKey) -> None:
        """Give the group's room back; nothing held is no error."""
        held = self._held.pop(group, None)
        if held is None:
            return
        claims = {uid: self._nodes[node].claims for uid in held.claims if (node := self._claim_node.get(uid))}
        victims = {
            uid: self._nodes[node].victims for uid in held.victims if (node := self._victim_node.get(uid))
        }
        for uid, entries in (*claims.items(), *victims.items()):
            if entries[uid][0] == group:
                self._drop(uid)

    def bound(self, pod: str) -> None:
        """The mirror shows the pod on a node: its claim and its grant are what it uses there by now."""
        self.grants.settle(pod)
        if (node := self._claim_node.pop(pod, None)) is not None:
            del self._nodes[node].claims[pod]
            self._tidy(node)

    def left(self, pod: str) -> None:
        """The mirror shows that the pod is terminating or gone: the room it held as a victim is seen there by now."""
        self._drop(pod)

    def _drop(self, pod: str) -> None:
        self.bound(pod)
        if (node := self._victim_node.pop(pod, None)) is not None:
            del self._nodes[node].victims[pod]
            self._tidy(node)

    def _tidy(self, node: str) -> None:
        entry = self._nodes[node]
        if not entry.claims and not entry.victims:
            del self._nodes[node]

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, group: GroupKey) -> bool:
        return group in self._held

    @property
    def nodes(self) -> list[str]:
        """Nodes with claimed room."""
        return [name for name, entry in self._nodes.items() if entry.claims]

    def claimed(
        self, node: str, resource: str, *, at_least: int | None = None, but: GroupKey | None = None
    ) -> int:
        """How much of `resource` groups of priority `at_least` or more claim on `node`, the group `but` aside."""
        entry = self._nodes.get(node)
        return sum(
            requests.get(resource, 0)
            for group, requests in (entry.claims.values() if entry else ())
            if group != but and (at_least is None or self._held[group].priority >= at_least)
        )

    def leaving(self, node: str, resource: str) -> int:
        """How much of `resource` on `node` is held by victims whose deletion the mirror has not seen begin."""
        entry = self._nodes.get(node)
        return sum(requests.get(resource, 0) for _, requests in (entry.victims.values() if entry else ()))

    def holders(self, node: str, *, at_least: int) -> set[GroupKey]:
        """Groups of priority `at_least` or more that have claims on `node`."""
        entry = self._nodes.get(node)
        return {
            group
            for group, _ in (entry.claims.values() if entry else ())
            if self._held[group].priority >= at_least
        }

    def awaits(self, pod: str, *, at_least: int) -> bool:
        """Whether `pod` is to leave for a reservation of priority `at_least` or more."""
        return any(held.priority >= at_least and pod in held.victims for held in self._held.values())

    def bars(
        self, node: str, pod: str, requests: Requests, priority: int, free: Callable[[str, str], int]
    ) -> bool:
        """Whether `pod` on `node` would take room that is claimed at its priority or above.

        `free(node, resource)` is allocatable less what pods hold that are not terminating. What victims still hold
        counts as room: it is free by the time the claims are used, and until then the scheduler sees it as taken.
        """
        return bool(self.holders(node, at_least=priority)) and any(
            amount > 0
            and amount
            > free(node, resource)
            + self.leaving(node, resource)
            - self.claimed(node, resource, at_least=priority)
            - self.grants.on(node, resource, but=pod)
            for resource, amount in requests.items()
        )

    def subtract(self, snapshot: Snapshot, *, but: GroupKey | None = None) -> Snapshot:
        """The snapshot as the next plan must see it: other groups' claims used, their victims on their way out."""
        others = [held for group, held in self._held.items() if group != but]
        if not others:
            return snapshot
        node_rows = {name: row for row, name in enumerate(snapshot.node_names) if snapshot.node_live[row]}
        columns = {name: column for column, name in enumerate(snapshot.resources)}
        used, leaving, flags = snapshot.used.copy(), snapshot.leaving.copy(), snapshot.pod_flags.copy()
        promised: dict[int, int] = {}
        for held in others:
            for uid, claim in held.claims.items():
                row = node_rows.get(claim.node)
                if row is None or uid not in self._claim_node:
                    continue
                for resource, amount in claim.requests.items():
                    if resource in columns:
                        used[row, columns[resource]] += amount
                if (pod := snapshot.pod_rows.get(uid)) is not None and snapshot.pod_node[pod] < 0:
                    promised[pod] = row
            for uid in held.victims:
                pod = snapshot.pod_rows.get(uid) if uid in self._victim_node else None
                if pod is not None and not flags[pod] & TERMINATING:
                    flags[pod] |= TERMINATING
                    leaving[snapshot.pod_node[pod]] += snapshot.class_requests[snapshot.pod_class[pod]]
        return replace(snapshot, used=used, leaving=leaving, pod_flags=flags, promised=promised)
