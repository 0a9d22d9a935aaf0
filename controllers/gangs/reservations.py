"""Room that is promised: what the members of a plan will use, from the plan's commit until they are bound or it ends.

The reservation is the authority on who may take freed room; a nominated node name is only a hint to the scheduler.
Requests are mappings from resource name to the scheduler's integers (cpu in milli), `pods` included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Final

from api.clock import Clock
from controllers.gangs.life import GroupKey
from nodes.state.snapshot import TERMINATING, Snapshot

__all__ = ["Claim", "Grants", "Reservations"]

Requests = Mapping[str, int]

GRANT_SECONDS: Final = 30.0
"""How long a pod that our filter let pass counts as on its way; a bind that takes longer has failed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What one pod uses or will use, and on which node."""

    node: str
    requests: Requests


@dataclass(slots=True)
class Grants:
    """Pods that our filter let onto nodes with reserved room and whose binding the mirror has not shown yet.

    The scheduler assumes a pod at once and binds it later; until then only these keep the next pod out of its room.
    """

    clock: Clock
    _by_pod: dict[str, tuple[float, frozenset[str], Requests]] = field(default_factory=dict)

    def note(self, pod: str, nodes: Iterable[str], requests: Requests) -> None:
        """The scheduler may put `pod` on any one of `nodes`; an earlier note for the same pod is void."""
        self._by_pod[pod] = (self.clock.monotonic() + GRANT_SECONDS, frozenset(nodes), requests)

    def settle(self, pod: str) -> None:
        """The mirror shows where the pod is, or that it is gone."""
        self._by_pod.pop(pod, None)

    def expire(self) -> None:
        """Forget pods that should have been bound long ago."""
        now = self.clock.monotonic()
        for pod in [pod for pod, (until, _, _) in self._by_pod.items() if until < now]:
            del self._by_pod[pod]

    def on(self, node: str, resource: str, *, but: str) -> int:
        """How much of `resource` pods on their way may take on `node`, the pod `but` aside."""
        return sum(
            requests.get(resource, 0)
            for pod, (_, nodes, requests) in self._by_pod.items()
            if pod != but and node in nodes
        )


class _Index:
    """Claims by pod (UID), by node and by group. A pod has one claim: that of the group that spoke last."""

    def __init__(self) -> None:
        self.by_pod: dict[str, tuple[GroupKey, Claim]] = {}
        self._by_node: dict[str, dict[str, tuple[GroupKey, Requests]]] = {}
        self._by_group: dict[GroupKey, set[str]] = {}

    def put(self, group: GroupKey, uid: str, claim: Claim) -> None:
        """The group's claim for the pod, instead of any other."""
        self._drop(uid)
        self.by_pod[uid] = (group, claim)
        self._by_node.setdefault(claim.node, {})[uid] = (group, claim.requests)
        self._by_group.setdefault(group, set()).add(uid)

    def take(self, group: GroupKey, uid: str) -> None:
        """The group has no claim for the pod any longer; another group's stays."""
        held = self.by_pod.get(uid)
        if held is not None and held[0] == group:
            self._drop(uid)

    def release(self, group: GroupKey) -> None:
        """The group has no claims any longer."""
        for uid in list(self._by_group.get(group, ())):
            self._drop(uid)

    def on(self, node: str) -> Iterable[tuple[GroupKey, Requests]]:
        """Whose claims are on the node, and what each is for."""
        return self._by_node.get(node, {}).values()

    def of(self, group: GroupKey) -> dict[str, Claim]:
        """The group's claims by pod."""
        return {uid: self.by_pod[uid][1] for uid in self._by_group.get(group, ())}

    @property
    def nodes(self) -> list[str]:
        """Nodes with claims."""
        return list(self._by_node)

    def _drop(self, uid: str) -> None:
        held = self.by_pod.pop(uid, None)
        if held is None:
            return
        group, claim = held
        on_node, in_group = self._by_node[claim.node], self._by_group[group]
        del on_node[uid]
        in_group.discard(uid)
        if not on_node:
            del self._by_node[claim.node]
        if not in_group:
            del self._by_group[group]


class Reservations:
    """What active plans claim and free, at most one plan per group.

    Who asks with a higher priority than a reservation's does not see it.
    """

    def __init__(self, clock: Clock) -> None:
        self._priorities: dict[GroupKey, int] = {}
        self._awaited: dict[GroupKey, Set[str]] = {}
        self._claims, self._victims = _Index(), _Index()
        self.grants = Grants(clock)

    # ---- what is reserved

    def open(self, group: GroupKey, priority: int, victims: Set[str] = frozenset()) -> None:
        """Begin the group's reservation, or begin it anew, without claims. `victims`: UIDs of all pods that go."""
        self.release(group)
        self._priorities[group], self._awaited[group] = priority, victims

    def put_claim(self, group: GroupKey, uid: str, claim: Claim | None) -> None:
        """What the group claims for a pod; None: nothing, because the pod is bound or gone."""
        self._put(self._claims, group, uid, claim)

    def put_victim(self, group: GroupKey, uid: str, claim: Claim | None) -> None:
        """What a victim of the group still holds; None: nothing, because the pod terminates or is gone."""
        self._put(self._victims, group, uid, claim)

    def release(self, group: GroupKey) -> None:
        """Give the group's room back; nothing held is no error."""
        self._priorities.pop(group, None)
        self._awaited.pop(group, None)
        self._claims.release(group)
        self._victims.release(group)

    @staticmethod
    def _put(index: _Index, group: GroupKey, uid: str, claim: Claim | None) -> None:
        if claim is None:
            index.take(group, uid)
        else:
            index.put(group, uid, claim)

    # ---- questions

    def __len__(self) -> int:
        return len(self._priorities)

    def claims(self, group: GroupKey) -> dict[str, Claim]:
        """The group's claims by member UID."""
        return self._claims.of(group)

    def victims(self, group: GroupKey) -> dict[str, Claim]:
        """What the group's victims still hold, by UID."""
        return self._victims.of(group)

    @property
    def groups(self) -> list[GroupKey]:
        """Groups with a reservation."""
        return list(self._priorities)

    @property
    def nodes(self) -> list[str]:
        """Nodes with claimed room."""
        return self._claims.nodes

    def claimed(
        self, node: str, resource: str, *, at_least: int | None = None, but: GroupKey | None = None
    ) -> int:
        """How much of `resource` groups of priority `at_least` or more claim on `node`, the group `but` aside."""
        return sum(
            requests.get(resource, 0)
            for group, requests in self._claims.on(node)
            if group != but and (at_least is None or self._priorities[group] >= at_least)
        )

    def leaving(self, node: str, resource: str) -> int:
        """How much of `resource` on `node` is held by victims whose deletion the mirror has not seen begin."""
        return sum(requests.get(resource, 0) for _, requests in self._victims.on(node))

    def holders(self, node: str, *, at_least: int) -> set[GroupKey]:
        """Groups of priority `at_least` or more that have claims on `node`."""
        return {group for group, _ in self._claims.on(node) if self._priorities[group] >= at_least}

    def awaits(self, pod: str, *, at_least: int) -> bool:
        """Whether `pod` is to leave for a reservation of priority `at_least` or more."""
        return any(
            pod in victims and self._priorities[group] >= at_least for group, victims in self._awaited.items()
        )

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
        others = [group for group in self._priorities if group != but]
        if not others:
            return snapshot
        node_rows = {name: row for row, name in enumerate(snapshot.node_names) if snapshot.node_live[row]}
        columns = {name: column for column, name in enumerate(snapshot.resources)}
        used, leaving, flags = snapshot.used.copy(), snapshot.leaving.copy(), snapshot.pod_flags.copy()
        promised: dict[int, int] = {}
        for group in others:
            for uid, claim in self._claims.of(group).items():
                row = node_rows.get(claim.node)
                if row is None:
                    continue
                for resource, amount in claim.requests.items():
                    if resource in columns:
                        used[row, columns[resource]] += amount
                if (pod := snapshot.pod_rows.get(uid)) is not None and snapshot.pod_node[pod] < 0:
                    promised[pod] = row
            for uid in self._victims.of(group):
                pod = snapshot.pod_rows.get(uid)
                if pod is not None and not flags[pod] & TERMINATING:
                    flags[pod] |= TERMINATING
                    leaving[snapshot.pod_node[pod]] += snapshot.class_requests[snapshot.pod_class[pod]]
        return replace(snapshot, used=used, leaving=leaving, pod_flags=flags, promised=promised)
