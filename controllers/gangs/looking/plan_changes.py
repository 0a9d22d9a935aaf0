"""What has changed around plans since somebody last looked at them.

The tables' logs are read once for all plans. So the work is proportional to what has changed, not to plans, members or
victims.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror.table_changes import Changed, TableChanges

__all__ = ["Unseen", "PlanChanges"]

K = TypeVar("K", bound=Hashable)

NOTHING: Final = Changed((), (), ())


@dataclass(slots=True, eq=False)
class Unseen:
    """What has changed around one plan. Whoever has followed it takes it out."""

    everything: bool = True
    """What has changed is not known."""
    nodes: set[str] = field(default_factory=set)
    """Nodes, pods on them, or pods nominated to them."""
    pods: set[str] = field(default_factory=set)
    """UIDs."""
    groups: set[GroupKey] = field(default_factory=set)
    """PodGroups, or their members."""

    def clear(self) -> None:
        """What has changed has been followed."""
        self.everything = False
        self.nodes.clear()
        self.pods.clear()
        self.groups.clear()


@dataclass(slots=True)
class _Watched:
    """What a plan is about."""

    nodes: set[str] = field(default_factory=set)
    pods: set[str] = field(default_factory=set)
    groups: set[GroupKey] = field(default_factory=set)


class PlanChanges:
    """Notes for each plan what has changed of the things that it is about."""

    def __init__(self, changes: TableChanges) -> None:
        self._changes = changes
        self._seen = changes.now
        self._watched: dict[Unseen, _Watched] = {}
        self._on_node: dict[str, set[Unseen]] = {}
        self._of_pod: dict[str, set[Unseen]] = {}
        self._of_group: dict[GroupKey, set[Unseen]] = {}

    def begin(self, nodes: Iterable[str], pods: Iterable[str]) -> Unseen:
        """Note what changes about a plan on these nodes that is for or against these pods (UIDs)."""
        unseen = Unseen()
        self._watched[unseen] = _Watched()
        self.watch_nodes(unseen, nodes)
        self.watch_pods(unseen, pods)
        return unseen

    def watch_nodes(self, unseen: Unseen, nodes: Iterable[str]) -> None:
        """The plan is about these nodes, too."""
        _watch(unseen, nodes, self._watched[unseen].nodes, self._on_node)

    def watch_pods(self, unseen: Unseen, pods: Iterable[str]) -> None:
        """The plan is about these pods (UIDs), too."""
        _watch(unseen, pods, self._watched[unseen].pods, self._of_pod)

    def watch_groups(self, unseen: Unseen, groups: Iterable[GroupKey]) -> None:
        """The plan is about these groups, too."""
        _watch(unseen, groups, self._watched[unseen].groups, self._of_group)

    def end(self, unseen: Unseen) -> None:
        """Nobody looks at the plan any longer."""
        watched = self._watched.pop(unseen)
        _leave(unseen, watched.nodes, self._on_node)
        _leave(unseen, watched.pods, self._of_pod)
        _leave(unseen, watched.groups, self._of_group)

    def follow(self) -> None:
        """Note what has changed in the tables."""
        seen, self._seen = self._seen, self._changes.now
        changed = self._changes.since(seen) if self._watched and seen != self._seen else NOTHING
        if changed is None:
            for unseen in self._watched:
                unseen.everything = True
            return
        self.nodes_changed(changed.nodes)
        for uid in changed.pods:
            for unseen in self._of_pod.get(uid, ()):
                unseen.pods.add(uid)
        for group in changed.groups:
            for unseen in self._of_group.get(group, ()):
                unseen.groups.add(group)

    def nodes_changed(self, nodes: Iterable[str]) -> None:
        """Something has changed on these nodes."""
        for node in nodes:
            for unseen in self._on_node.get(node, ()):
                unseen.nodes.add(node)


def _watch(unseen: Unseen, keys: Iterable[K], watched: set[K], index: dict[K, set[Unseen]]) -> None:
    for key in keys:
        if key not in watched:
            watched.add(key)
            index.setdefault(key, set()).add(unseen)


def _leave(unseen: Unseen, watched: Iterable[K], index: dict[K, set[Unseen]]) -> None:
    for key in watched:
        index[key].discard(unseen)
        if not index[key]:
            del index[key]
