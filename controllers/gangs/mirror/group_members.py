"""The members of groups, kept in step with the tables: a change of one member costs no look at the others."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass

from api.requests import PODS
from controllers.gangs.keys import GroupKey
from nodes.search.preemptors.mismatch import Asking
from nodes.state.columns.flags import GATED, NEVER, TERMINATING
from nodes.state.pod_view import PodView
from nodes.state.tables import Tables

__all__ = ["Claim", "GroupMembers", "MemberView", "Members", "Requests", "member_of", "requests_of"]

Requests = Mapping[str, int]
"""By resource, in the scheduler's integers (cpu in milli), `pods` included."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What one pod uses or will use, and on which node."""

    node: str
    requests: Requests


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member: has neither ended nor begun to terminate, and has no scheduling gate but ours."""

    uid: str
    name: str
    node: str | None
    requests: Requests
    created: int
    asking: Asking


def member_of(view: PodView) -> MemberView:
    """The pod as a member."""
    asking = Asking(view.name, view.priority, bool(view.flags & NEVER), view.scheduler)
    return MemberView(view.uid, view.name, view.node, requests_of(view), view.created, asking)


def requests_of(view: PodView) -> Requests:
    """By resource, in the scheduler's integers (cpu in milli), `pods` included."""
    return {**view.pod_class.requests, PODS: 1}


class Members:
    """The members of one group."""

    __slots__ = ("_asking", "_by_uid", "_running", "bound", "ordered", "unbound")

    def __init__(self, views: Iterable[PodView] = ()) -> None:
        self._by_uid: dict[str, MemberView] = {}
        self._running: set[str] = set()
        self._asking: Counter[Asking] = Counter()
        self.bound: set[str] = set()
        """UIDs of the members that are bound."""
        self.unbound: set[str] = set()
        """UIDs of the others."""
        for view in views:
            self._add(view)
        self.ordered = sorted(self._by_uid.values(), key=_order)
        """By creation, then name. The list is never changed, only replaced."""

    def find(self, uid: str) -> MemberView | None:
        """The member with this UID."""
        return self._by_uid.get(uid)

    @property
    def running(self) -> Set[str]:
        """UIDs of the group's bound pods that are not terminating. Good until the next event."""
        return self._running

    @property
    def kinds(self) -> list[Asking]:
        """What the unbound members say of themselves, each variant once and without a name."""
        return list(self._asking)

    @property
    def everybody(self) -> list[Asking]:
        """What each member says of itself, bound or not."""
        return [member.asking for member in self.ordered]

    @property
    def asking(self) -> list[Asking]:
        """What each unbound member says of itself."""
        return [member.asking for member in self.ordered if member.node is None]

    def renew(self, uids: Iterable[str], find: Callable[[str], PodView | None]) -> None:
        """Read the pods with these UIDs again. `find`: each as it is now; None if it does not belong to the group."""
        ordered = self.ordered.copy()
        for uid in uids:
            before, view = self._by_uid.get(uid), find(uid)
            if before is not None:
                del ordered[bisect_left(ordered, _order(before), key=_order)]
            self._drop(uid, before)
            if view is not None:
                self._add(view)
                if (member := self._by_uid.get(uid)) is not None:
                    insort(ordered, member, key=_order)
        self.ordered = ordered

    def _add(self, view: PodView) -> None:
        flags, uid = view.flags, view.uid
        if view.node is not None and not flags & TERMINATING:
            self._running.add(uid)
        if flags & (TERMINATING | GATED):
            return
        member = self._by_uid[uid] = member_of(view)
        if member.node is not None:
            self.bound.add(uid)
        else:
            self.unbound.add(uid)
            self._asking[_kind(member)] += 1

    def _drop(self, uid: str, member: MemberView | None) -> None:
        self._running.discard(uid)
        self.bound.discard(uid)
        self.unbound.discard(uid)
        if member is None:
            return
        del self._by_uid[uid]
        if member.node is None:
            kind = _kind(member)
            self._asking[kind] -= 1
            if not self._asking[kind]:
                del self._asking[kind]


class GroupMembers:
    """Finds them in the tables, and keeps them."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._kept: dict[GroupKey, _Kept] = {}

    def of(self, key: GroupKey) -> Members:
        """The group's members as they are now. Good until the next event."""
        touched, kept = self._tables.touched(key), self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(self._tables, key)
        elif kept.touched != touched:
            kept.follow(touched)
        return kept.members

    def find(self, key: GroupKey) -> Members | None:
        """The same, if they are kept."""
        return self.of(key) if key in self._kept else None

    def forget(self, key: GroupKey) -> None:
        """The group is gone: do not keep its members."""
        self._kept.pop(key, None)


class _Kept:
    """The members of a group as of a change of the tables."""

    def __init__(self, tables: Tables, key: GroupKey) -> None:
        self._tables, self._key = tables, key
        self._begin()

    def _begin(self) -> None:
        tables = self._tables
        self.touched, self._seen = tables.touched(self._key), tables.pods.changed.count
        self.members = Members(tables.view(row) for row in tables.members(self._key))

    def follow(self, touched: int) -> None:
        """The group was touched."""
        pods, there = self._tables.pods, self._tables.members(self._key)
        changed = pods.changed.since(self._seen)
        if changed is None or len(changed) > len(there):
            self._begin()
            return

        def find(uid: str) -> PodView | None:
            row = pods.find(uid)
            return self._tables.view(row) if row is not None and row in there else None

        seen, self._seen = pods.changed.count, -1  # after a fault the members are read anew
        self.members.renew(dict.fromkeys(changed), find)
        self.touched, self._seen = touched, seen


def _order(member: MemberView) -> tuple[int, str]:
    return member.created, member.name


def _kind(member: MemberView) -> Asking:
    return member.asking._replace(name="")
