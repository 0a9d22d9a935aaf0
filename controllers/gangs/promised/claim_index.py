"""What plans claim, and which pods leave for them, by pod, node and group. See
`controllers.gangs.promised.reservations`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set

from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.mirror.group_members import Claim, Requests

__all__ = ["ClaimIndex", "VictimIndex"]


class ClaimIndex:
    """Claims by pod (UID), by node and by group. A pod has one claim: that of the group that spoke last."""

    def __init__(self, changed: Callable[[str, str], None]) -> None:
        """`changed` is called with the node and the pod (UID) of each claim that comes or goes."""
        self._changed = changed
        self.by_pod: dict[str, tuple[GroupKey, Claim]] = {}
        self._by_node: dict[str, dict[str, tuple[GroupKey, Requests]]] = {}
        self._by_group: dict[GroupKey, set[str]] = {}

    def put(self, group: GroupKey, uid: str, claim: Claim) -> None:
        """The group's claim for the pod, instead of any other."""
        self._drop(uid)
        self.by_pod[uid] = (group, claim)
        self._by_node.setdefault(claim.node, {})[uid] = (group, claim.requests)
        self._by_group.setdefault(group, set()).add(uid)
        self._changed(claim.node, uid)

    def take(self, group: GroupKey, uid: str) -> None:
        """The group has no claim for the pod any longer; another group's stays."""
        held = self.by_pod.get(uid)
        if held is not None and held[0] == group:
            self._drop(uid)

    def release(self, group: GroupKey) -> None:
        """The group has no claims any longer."""
        for uid in list(self._by_group.get(group, ())):
            self._drop(uid)

    def __contains__(self, node: str) -> bool:
        """Whether there are claims on the node."""
        return node in self._by_node

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
        self._changed(claim.node, uid)


class VictimIndex:
    """Pods that leave for plans (UIDs). Several plans may name one pod, and their priorities say whose it is."""

    def __init__(self, changed: Callable[[str, str], None]) -> None:
        """`changed` is called with the node and the UID of each victim that comes, goes or changes."""
        self._changed = changed
        self._pods: dict[str, tuple[Claim, bool, set[GroupKey]]] = {}
        self._by_node: dict[str, set[str]] = {}
        self._by_group: dict[GroupKey, set[str]] = {}

    def put(self, group: GroupKey, uid: str, claim: Claim, *, leaving: bool) -> None:
        """A victim of the group, and where it is."""
        groups = self._forget(uid) | {group}
        self._pods[uid] = (claim, leaving, groups)
        self._by_node.setdefault(claim.node, set()).add(uid)
        self._by_group.setdefault(group, set()).add(uid)
        self._changed(claim.node, uid)

    def take(self, group: GroupKey, uid: str) -> None:
        """The pod is no victim of the group any longer."""
        if group not in self.named_by(uid):
            return
        claim, leaving, _ = self._pods[uid]
        groups = self._forget(uid) - {group}
        if groups:
            self._pods[uid] = (claim, leaving, groups)
            self._by_node.setdefault(claim.node, set()).add(uid)
        self._by_group[group].discard(uid)
        if not self._by_group[group]:
            del self._by_group[group]

    def release(self, group: GroupKey) -> None:
        """The group has no victims any longer."""
        for uid in list(self._by_group.get(group, ())):
            self.take(group, uid)

    def on(self, node: str) -> Iterator[tuple[Set[GroupKey], Requests, bool]]:
        """Whose victims are on the node, what each holds, and whether it leaves already."""
        for uid in self._by_node.get(node, ()):
            claim, leaving, groups = self._pods[uid]
            yield groups, claim.requests, leaving

    def of(self, group: GroupKey) -> dict[str, Claim]:
        """The group's victims by pod."""
        return {uid: self._pods[uid][0] for uid in self._by_group.get(group, ())}

    def named_by(self, uid: str) -> Set[GroupKey]:
        """The groups whose victim the pod is."""
        return self._pods[uid][2] if uid in self._pods else frozenset()

    def _forget(self, uid: str) -> set[GroupKey]:
        held = self._pods.pop(uid, None)
        if held is None:
            return set()
        claim, _, groups = held
        on_node = self._by_node[claim.node]
        on_node.discard(uid)
        if not on_node:
            del self._by_node[claim.node]
        self._changed(claim.node, uid)
        return groups
