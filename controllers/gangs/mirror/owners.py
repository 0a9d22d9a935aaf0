"""Who would create pods again if they are evicted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from controllers.gangs.keys import GroupKey
from nodes.groups.forms import object_name
from nodes.state.pod_view import PodView
from nodes.state.tables import Tables
from runtime.exchange.owner_stops import PodOwner

__all__ = ["Owners"]


class Owners:
    """Questions to the tables."""

    def __init__(self, tables: Tables, running_members: Callable[[GroupKey], Set[str]]) -> None:
        """`running_members`: UIDs of a group's bound pods that are not terminating."""
        self._tables, self._running_members = tables, running_members

    def of(self, uid: str) -> PodOwner | None:
        """The pod's owner: its PodGroup, else its controller; None if nobody would create it again."""
        row = self._tables.pod(uid)
        if row is None:
            return None
        view = self._tables.view(row)
        group = self._tables.groups.asking(view.group) if view.group is not None else None
        if group is not None:
            meta, named = group.metadata, object_name(group)
            return PodOwner(named.api_version, named.kind, meta.namespace, named.name, meta.uid)
        return _controller(view)

    def controllers(self, pods: Iterable[str]) -> set[PodOwner]:
        """The controllers of these pods (UIDs), whether or not the pods have a PodGroup."""
        rows = (self._tables.pod(uid) for uid in pods)
        found = (_controller(self._tables.view(row)) for row in rows if row is not None)
        return {owner for owner in found if owner is not None}

    def of_all(self, pods: Iterable[str]) -> set[str]:
        """UIDs of those who would create these pods (UIDs) again."""
        found = (self.of(uid) for uid in pods)
        return {owner.uid for owner in found if owner is not None}

    def pods(self, owner: str) -> list[str]:
        """UIDs of the bound pods that this owner (UID) would create again."""
        for group in self._tables.groups.live:
            if group.metadata.uid == owner:
                return sorted(self._running_members((group.metadata.namespace, group.metadata.name)))
        views = (self._tables.view(row) for row in self._tables.controlled(owner))
        return sorted(view.uid for view in views if view.node is not None and self._is_owned(view))

    def _is_owned(self, view: PodView) -> bool:
        """Whether the pod's controller is its owner: a group that exists comes before it."""
        return view.group is None or self._tables.groups.asking(view.group) is None


def _controller(view: PodView) -> PodOwner | None:
    own = view.controller
    if own is None:
        return None
    return PodOwner(own.api_version, own.kind, view.namespace, own.name, own.uid)
