"""Chains of controller references: to which owner the controllers of pods lead, by UID.

A pod of a JobSet has a Job between itself and the JobSet. A leader of a LeaderWorkerSet has a StatefulSet between; a
worker has a StatefulSet, its leader, and the leader's StatefulSet. All of them come and go in any order. See
docs/decisions/0082.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from enum import Enum
from typing import Final

from api.foreign_owners import OwningJob
from nodes.groups.owners import POD, Between, OwnerName, control_of, job_set_named

__all__ = ["UNKNOWN", "Answer", "Chains", "ControllerOf", "Unknown"]


class Unknown(Enum):
    """An object of the chain is not known."""

    UNKNOWN = 0


UNKNOWN: Final = Unknown.UNKNOWN
Answer = OwnerName | None | Unknown
"""The owner to which a controller leads; None if it leads to none that could have these pods."""
ControllerOf = Callable[[str], str | None]
"""From the UID of a pod to that of its controller; empty if it has none, None if there is no such pod."""
Name = tuple[type[Between], str, str]
"""(kind, namespace, name)."""


class Chains:
    """The Jobs and StatefulSets that may be between pods and owners, and the pods that they control."""

    def __init__(self, controller_of: ControllerOf) -> None:
        self._controller_of = controller_of
        self._links: dict[str, OwnerName | None] = {}
        """What controls each Job whose pods name a JobSet, and each StatefulSet; by UID."""
        self._uids: dict[Name, str] = {}
        self._answers: dict[str, OwnerName | None] = {}
        """Where controllers lead, by UID. One that is gone leads where it last did, for as long as it has pods: a group
        whose leader has been evicted is still the same."""
        self._rows: dict[str, set[int]] = {}
        """The pods that labels put into the group of an owner, by the UID of their controller."""
        self._above: dict[str, tuple[str, ...]] = {}
        """The UIDs of what the answer depends on besides the object itself, by its UID."""
        self._below: dict[str, set[str]] = {}
        """The same the other way round."""

    def copied(self) -> Chains:
        """Where controllers lead now, without the pods. Later events of one do not change the other."""
        other = Chains(lambda _: None)
        other._links, other._uids = dict(self._links), dict(self._uids)
        other._answers, other._above = dict(self._answers), dict(self._above)
        other._below = {uid: set(below) for uid, below in self._below.items()}
        return other

    # ---- pods

    def note(self, row: int, controller: str) -> None:
        """The pod in this row has this controller (UID)."""
        self._rows.setdefault(controller, set()).add(row)

    def forget(self, row: int, controller: str) -> None:
        """It is gone, or has another one."""
        rows = self._rows.get(controller, set())
        rows.discard(row)
        if not rows:
            self._rows.pop(controller, None)
            if controller not in self._links:
                self._answers.pop(controller, None)

    def rows(self, controller: str) -> Set[int]:
        """The pods that this controller (UID) has. Good until the next event."""
        return self._rows.get(controller, frozenset())

    def answer(self, controller: str) -> Answer:
        """Where this controller (UID) leads."""
        return self._answers.get(controller, UNKNOWN)

    def concerns(self, pod: str) -> bool:
        """Whether this pod (UID) controls a StatefulSet."""
        return pod in self._below

    def pod_changed(self, pod: str) -> list[str]:
        """There is such a pod now, or it has another controller. Returns the controllers that lead elsewhere now."""
        return list(self._follow(self._below.get(pod, ())))

    # ---- what is between

    def put(self, item: Between) -> list[str]:
        """This Job or StatefulSet exists. Returns the controllers that lead elsewhere than before."""
        meta, kind = item.metadata, type(item)
        if isinstance(item, OwningJob) and not job_set_named(item):
            self.remove(kind, meta.namespace, meta.name)  # a cluster has many of them
            return []
        link, name = control_of(item), (kind, meta.namespace, meta.name)
        if self._uids.get(name) == meta.uid and self._links[meta.uid] == link:
            return []
        before = self.answer(meta.uid)
        self.remove(kind, meta.namespace, meta.name)
        self._answers.pop(meta.uid, None)  # it was that of another link
        self._uids[name], self._links[meta.uid] = meta.uid, link
        below = [
            each for each in self._follow((meta.uid, *self._below.get(meta.uid, ()))) if each != meta.uid
        ]
        return [meta.uid, *below] if self.answer(meta.uid) != before else below

    def remove(self, kind: type[Between], namespace: str, name: str) -> None:
        """It is gone. Its pods stay where they are."""
        uid = self._uids.pop((kind, namespace, name), None)
        if uid is None:
            return
        del self._links[uid]
        self._depend(uid, ())
        if uid not in self._rows:
            self._answers.pop(uid, None)

    # ---- the way up

    def _follow(self, controllers: Iterable[str]) -> Iterator[str]:
        """Follow the chains from these controllers anew. Those that lead elsewhere than before."""
        for uid in list(controllers):
            answer, above = self._lead(uid)
            self._depend(uid, above)
            if answer is not UNKNOWN and self.answer(uid) != answer:
                self._answers[uid] = answer
                yield uid

    def _lead(self, uid: str) -> tuple[Answer, tuple[str, ...]]:
        """Where it leads, and on which UIDs that depends."""
        link = self._links[uid]
        if link is None or link.source != POD:
            return link, ()
        its_set = self._controller_of(link.uid)
        if its_set is None:
            return UNKNOWN, (link.uid,)
        if not its_set:
            return None, (link.uid,)
        top = self._links.get(its_set, UNKNOWN)
        leads_on = isinstance(top, OwnerName) and top.source == POD
        return None if leads_on else top, (link.uid, its_set)

    def _depend(self, uid: str, above: tuple[str, ...]) -> None:
        for each in self._above.pop(uid, ()):
            self._below[each].discard(uid)
            if not self._below[each]:
                del self._below[each]
        if above:
            self._above[uid] = above
            for each in above:
                self._below.setdefault(each, set()).add(uid)
