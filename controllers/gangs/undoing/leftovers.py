"""The list of what Enforce has left on pods of namespaces that are not enforced any longer.

It is made when the term begins, or when the mode of a namespace changes. What a process of ours that still enforced
writes late comes onto it, too: a webhook adds gates until it is rolled out, and a standby turns pods down until it has
seen the Lease.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from api.backoff import Backoff
from api.clock import Clock
from api.core import Pod
from api.holds import Holds
from api.plan_names import PlanKey
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.marked_pods import MarkedPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import PULSE_NODE, WaitingPods, held_because
from controllers.gangs.undoing.units import Units
from controllers.gangs.writing.pod_writer import Write
from controllers.gangs.writing.stored import StoredPlans

__all__ = ["Left", "Leftovers", "Shown"]

AGAIN: Final = Backoff(5.0, 300.0, jitter=0.0)
"""Until what was withdrawn, and is still there, is withdrawn again."""
MOST_WAKES: Final = 6
"""A pod that was woken so often, and still names our filter, has no scheduler."""


class Left(NamedTuple):
    """What is left on one pod."""

    uid: str
    namespace: str
    name: str
    marked: bool = False
    """It has our mark, and stays."""
    gated: bool = False
    """It has our scheduling gate."""
    nominated: str = ""
    """The node to which we have nominated it."""
    held: bool = False
    """Its condition says that it is held, or filter turned it down."""

    def __bool__(self) -> bool:
        """Whether anything is left."""
        return self.marked or self.gated or bool(self.nominated) or self.held

    def is_within(self, other: Left) -> bool:
        """Whether the other one has all that this one has."""
        return (
            self.marked <= other.marked
            and self.gated <= other.gated
            and self.nominated in ("", other.nominated)
            and self.held <= other.held
        )


class Shown(NamedTuple):
    """Where it is seen: projections of watched objects."""

    waiting: WaitingPods
    gated: GatedPods
    marked: MarkedPods
    stored: StoredPlans
    roster: Roster

    @property
    def uids(self) -> set[str]:
        """Pods that something may be left on."""
        gated = (pod.uid for group in self.gated.groups for pod in self.gated.of(group))
        return {*(pod.uid for pod in self.waiting), *gated, *self.marked}


@dataclass(slots=True)
class _Settled:
    """What was withdrawn from a pod."""

    left: Left
    accepted: bool
    """The API server has done it. Otherwise it is still held."""
    times: int
    until: float
    """If it is still there then (monotonic seconds), it is withdrawn again."""


class Leftovers:
    """Made for one term. `lets` is the exception of `controllers.gangs.writing.pod_writer`."""

    def __init__(self, shown: Shown, concerns: Callable[[str], bool], clock: Clock) -> None:
        """`concerns`: whether the namespace is not enforced."""
        self._shown, self._concerns, self._clock = shown, concerns, clock
        self._pods: dict[str, Left] = {}
        self._bound: dict[str, Left] = {}
        """Pods that the scheduler has bound before they were let go. They still say that they are held."""
        self._settled: dict[str, _Settled] = {}
        self._nodes: dict[str, set[str]] = {}
        """By pod (UID): where plans of Enforce put it."""
        self._writing: Counter[str] = Counter()
        self.units = Units(shown.stored, shown.marked, shown.roster, concerns)
        self._carrier = ""
        """The pod (UID) that carries a pulse."""
        self.lacks_rights = False
        """The process may not write to pods."""

    # ---- the list

    def begin(self) -> None:
        """Make it anew."""
        waits = self._shown.waiting.find  # its plan may have ended since the list was made before
        self._nodes = {uid: nodes for uid, nodes in self._nodes.items() if waits(uid) is not None}
        for stored in self._shown.stored:
            spec = stored.to_undo
            for placement in spec.placements if spec is not None and not stored.observed else ():
                self._nodes.setdefault(placement.uid, set()).add(placement.node)
        for uid in self._shown.uids | self._pods.keys():
            self.touch(uid)

    def pod_changed(self, uid: str, pod: Pod | None) -> bool:
        """There is a newer state of the pod; None when it is gone, or has ended. Returns whether it is, or was, on the
        list."""
        before, says = self._pods.get(uid), pod is not None and bool(pod.spec.node_name and held_because(pod))
        if before is not None and before.held and says:
            self._bound[uid] = Left(uid, before.namespace, before.name, held=True)
        else:
            self._bound.pop(uid, None)
        return self.touch(uid)

    def touch(self, uid: str) -> bool:
        """Look at the pod again. Returns whether it is, or was, on the list."""
        left, before = self._look(uid), self._pods.pop(uid, None)
        if left is None:
            self._settled.pop(uid, None)
            return before is not None
        self._pods[uid] = left
        return True

    def _look(self, uid: str) -> Left | None:
        mark, gate, waiting = (
            self._shown.marked.find(uid),
            self._shown.gated.find(uid),
            self._shown.waiting.find(uid),
        )
        if mark is not None:
            left = Left(uid, mark.namespace, mark.name, marked=not self.units.has_victim(uid))
        elif waiting is not None:
            left = Left(uid, waiting.namespace, waiting.name)
        elif gate is not None:
            left = Left(uid, gate.group[0], gate.name)
        elif uid in self._bound:
            left = self._bound[uid]
        else:
            return None
        if not self._concerns(left.namespace):
            return None
        if waiting is not None:
            is_ours = waiting.nominated == PULSE_NODE or waiting.nominated in self._nodes.get(uid, ())
            nominated = waiting.nominated if is_ours and uid != self._carrier else ""
            left = left._replace(nominated=nominated, held=bool(waiting.held) or waiting.is_refused)
        left = left._replace(gated=gate is not None)
        return left or None

    def due(self) -> list[Left]:
        """What has to be withdrawn now."""
        now = self._clock.monotonic()
        return [left for left in self._pods.values() if self._due_at(left) <= now]

    def due_in(self) -> float:
        """Seconds until something has to be withdrawn; infinite if there is nothing."""
        first = min(map(self._due_at, self._pods.values()), default=float("inf"))
        return max(0.0, first - self._clock.monotonic())

    def _due_at(self, left: Left) -> float:
        settled = self._settled.get(left.uid)
        if settled is None or not left.is_within(settled.left):
            return float("-inf")
        only_held = left.held and not (left.marked or left.gated or left.nominated)
        return float("inf") if only_held and settled.times >= MOST_WAKES else settled.until

    def settle(self, left: Left, *, accepted: bool) -> None:
        """It was withdrawn, or the API server refuses that."""
        if left.uid in self._pods:
            before = self._settled.get(left.uid)
            times = before.times + 1 if before is not None else 1
            until = self._clock.monotonic() + AGAIN.delay(times)
            self._settled[left.uid] = _Settled(left, accepted, times, until)

    @contextmanager
    def writing(self, uid: str) -> Iterator[None]:
        """The pod may be written to in this context, whatever happens to it meanwhile."""
        self._writing[uid] += 1
        try:
            yield
        finally:
            self._writing[uid] -= 1
            if not self._writing[uid]:
                del self._writing[uid]

    def carry(self, uid: str) -> None:
        """This pod carries a pulse now; "": none does."""
        self._carrier = uid

    # ---- what others ask

    def holds(self) -> Holds:
        """What is held. What the API server has accepted is not."""
        pods = [left for left in self._pods.values() if not self._is_done(left)]
        return Holds(
            units=self.units.count,
            marks=sum(left.marked for left in pods),
            gates=sum(left.gated for left in pods),
            nominations=sum(bool(left.nominated) for left in pods),
            pods=sum(left.held for left in pods),
            lacks_rights=self.lacks_rights,
        )

    def _is_done(self, left: Left) -> bool:
        settled = self._settled.get(left.uid)
        return settled is not None and settled.accepted and left.is_within(settled.left)

    def keeps(self) -> Iterable[PlanKey]:
        """Plans whose finalizers stay: they say what is left."""
        nominated = {left.uid for left in self._pods.values() if left.nominated and not self._is_done(left)}
        for stored in self._shown.stored:
            spec = stored.to_undo
            nominates = spec is not None and any(each.uid in nominated for each in spec.placements)
            if nominates or self.units.of(stored):
                yield stored.key

    def lets(self, uid: str, write: Write) -> bool:
        """See `controllers.gangs.writing.pod_writer.Exempt`."""
        if write in (Write.MARK, Write.END):
            return self.units.finishes(uid)
        if write is Write.NOMINATE:
            return uid == self._carrier
        return uid == self._carrier or uid in self._writing or self.units.has_victim(uid)
