"""Where kube-scheduler's own pod groups may use free room only: on nodes with pods of a unit that it does not know.

The scheduler tries the members of such a group one after the other, with the earlier ones assumed. First it does so
beside all pods, then as if all pods of lower priority were gone. Filter does not learn which of both it is. So what
filter offers must be right in both: what it lets onto such a node fits beside everything that is there, together with
all that was let onto it before. Then the scheduler can put back all pods of that node, and evicts none.

See docs/decisions/0104.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api.clock import Clock
from api.core import Pod
from api.groups import PodGroup
from api.priority import UnknownPriorityClass, group_priority
from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror.group_members import Requests
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.grants import Grant, Grants
from nodes.groups.forms import HIGHEST, is_native
from nodes.groups.native import name_of
from nodes.state.hidden_units import HiddenUnits
from nodes.state.tables import Tables

__all__ = ["Spared", "native_group"]

Int64s = NDArray[np.int64]


MOST_OFFERED: Final = 256
"""Nodes with a unit that one member is offered. A scheduler looks at 100 nodes or more, and each offer is counted."""


def native_group(pod: Pod) -> GroupKey | None:
    """The group of kube-scheduler's own kind with which it tries the pod; None if the pod names none."""
    name = name_of(pod)
    return (pod.metadata.namespace, name) if name is not None else None


class Spared:
    """What members of native groups may use, and what was offered to them. All of one process."""

    def __init__(self, tables: Tables, roster: Roster, clock: Clock) -> None:
        self._tables, self._roster = tables, roster
        self._units = HiddenUnits(tables)
        self.offers = Grants(clock)
        """What the members of native groups may take on such nodes."""
        self.offers.on_change(self._changed)
        self._taken: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """What was offered, by node."""
        self._passed: dict[GroupKey, set[str]] = {}
        """By group, the members (UIDs) that filter has let through, on whatever node."""
        self._tried: dict[str, GroupKey] = {}
        """By scheduler, the native group that it tries."""

    # ---- attempts of a scheduler

    def attempted(self, pod: Pod) -> None:
        """The scheduler tries the pod, of whatever kind. It tries one group at a time."""
        key, scheduler = native_group(pod), pod.spec.scheduler_name
        before = self._tried.get(scheduler)
        if before is not None and before != key:
            self._attempt_ended(before)
            del self._tried[scheduler]
        if key is not None:
            self._tried[scheduler] = key
            self._forget(key, pod.metadata.uid)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The tables have a new state of a pod; None when it is gone."""
        self.offers.pod_changed(uid, pod)
        if self._passed and (pod is None or pod.spec.node_name or pod.metadata.deletion_timestamp):
            for key in [key for key, passed in self._passed.items() if uid in passed]:
                self._forget(key, uid)

    def _attempt_ended(self, key: GroupKey) -> None:
        """If fewer members were let through than must run, nothing comes of it, and the offers are void."""
        passed = self._passed.get(key, set())
        bound = len(self._roster.gang_members(key).bound)
        if bound + len(passed) < _minimum(self._roster.group(key)):
            for uid in list(passed):
                self._forget(key, uid)

    def _forget(self, key: GroupKey, uid: str) -> None:
        self.offers.settle(uid)
        passed = self._passed.get(key)
        if passed is not None:
            passed.discard(uid)
            if not passed:
                del self._passed[key]

    # ---- filter

    def refused(self, key: GroupKey, pod: Pod, requests: Requests, names: Sequence[str]) -> list[str]:
        """On which of these nodes there is not enough free room for the member beside a unit that must not break.

        What it may take on the others is offered to it from now on.
        """
        self.offers.expire()
        refused = self._judge(key, pod, requests, names)
        if len(refused) < len(names):
            self._passed.setdefault(key, set()).add(pod.metadata.uid)
        return refused

    def all_units_on(self, key: GroupKey, pod: Pod, names: Sequence[str]) -> list[str]:
        """On which of these nodes there is such a unit, with free room or without."""
        spared = self._units.on(self._rows(names), self._below(key, pod))
        spared |= self._conflicts(key, pod, names)
        return [names[at] for at in np.flatnonzero(spared).tolist()]

    def _judge(self, key: GroupKey, pod: Pod, requests: Requests, names: Sequence[str]) -> list[str]:
        rows = self._rows(names)
        spared = self._units.on(rows, self._below(key, pod))
        apart = self._conflicts(key, pod, names)
        at = np.flatnonzero(spared & ~apart)
        slots = self._slots(pod, requests, rows[at], [names[each] for each in at.tolist()])
        open_ = at[_share(slots, self._to_come(key, pod.metadata.uid))]
        if len(open_):
            self.offers.note(pod, [names[each] for each in open_.tolist()], requests)
        shut = spared | apart
        shut[open_] = False
        return [names[each] for each in np.flatnonzero(shut).tolist()]

    def _rows(self, names: Sequence[str]) -> NDArray[np.intp]:
        """-1 for a node that does not exist, or that is not known yet. Nobody knows a pod there either."""
        found = (self._tables.nodes.find(name) for name in names)
        return np.array([-1 if row is None else row for row in found], np.intp)

    def _below(self, key: GroupKey, pod: Pod) -> int:
        """The scheduler may evict pods of a lower priority than this. Where that is not known it is any priority."""
        group = self._roster.group(key)
        if group is None or not is_native(group):
            return HIGHEST
        own = pod.spec.priority or 0
        try:
            priority = group_priority(group, self._tables.priority_classes)
        except UnknownPriorityClass:
            return HIGHEST
        return own if priority == HIGHEST else max(own, priority)

    def _conflicts(self, key: GroupKey, pod: Pod, names: Sequence[str]) -> NDArray[np.bool_]:
        row = self._tables.pod(pod.metadata.uid)
        if row is None:
            return np.zeros(len(names), np.bool_)
        return self._units.conflicts(row, names, self._below(key, pod))

    def _slots(self, pod: Pod, requests: Requests, rows: NDArray[np.intp], names: Sequence[str]) -> Int64s:
        """How many pods like this one fit on each of the nodes, beside all pods there and all that was offered."""
        wanted = {resource: amount for resource, amount in requests.items() if amount > 0}
        room = self._tables.nodes.free_now_on(rows, list(wanted))
        nominated = self._tables.pods.nominations.by_node
        for at, (row, name) in enumerate(zip(rows.tolist(), names, strict=True)):
            taken = Counter(self._taken[name]) if name in self._taken else Counter[str]()
            if row in nominated:
                taken.update(self._nominated(name, pod))
            if taken:
                room[at] -= [taken[resource] for resource in wanted]
        slots: Int64s = np.maximum(0, room // np.array(list(wanted.values()), np.int64)).min(axis=1)
        return slots

    def _nominated(self, node: str, pod: Pod) -> Counter[str]:
        """What the pods request that the scheduler keeps room for on the node."""
        total = Counter[str]()
        for each in self._roster.nominees(node, at_least=pod.spec.priority or 0):
            if each.uid != pod.metadata.uid and not self.offers.covers(each.uid, node):
                total.update(each.requests)
        return total

    def _to_come(self, key: GroupKey, uid: str) -> int:
        """How many members, this one included, need an offer."""
        unbound = self._roster.gang_members(key).unbound
        return 1 + sum(each != uid and each not in self.offers for each in unbound)

    def _changed(self, grant: Grant, sign: int) -> None:
        for node in grant.nodes:
            taken = self._taken[node]
            for resource, amount in grant.requests.items():
                taken[resource] += sign * amount
            if not any(taken.values()):
                del self._taken[node]


def _share(slots: Int64s, members: int) -> NDArray[np.intp]:
    """Which of the nodes one member is offered, so that as many are left for each of the others.

    The nodes with the most slots come first. With one slot or more there is at least one node.
    """
    best: NDArray[np.intp] = np.argsort(-slots, kind="stable")
    most = min(MOST_OFFERED, max(1, int(slots.sum()) // members))
    return best[: min(most, int(np.count_nonzero(slots)))]


def _minimum(group: PodGroup | None) -> int:
    """How many members must be placed in one attempt for one of them to stay."""
    gang = group.spec.scheduling_policy.gang if group is not None else None
    return gang.min_count if gang is not None else 1
