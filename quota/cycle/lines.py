"""The lines in which Workloads wait, one for each shape in each ClusterQueue.

Workloads of the same shape get the same answer, so they are parked together and come back together. A class of equals
has one line for those that may be heads, and one for those that are parked. Parking all of them swaps the two lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from api.workloads import Workload
from quota.cycle.lazy_heap import LazyHeap
from quota.search.assignment import Tried

__all__ = ["Alike", "ClusterLine", "Line", "LocalLine", "Place", "State", "Timers", "Tree", "Waiting"]

Place = tuple[int, int, str, str, int]
"""`quota.cycle.queues.precedence`, and a number that is used once. So an old entry of a heap is never taken for a new
one."""
Time = tuple[int, int]
"""Microseconds since 1970, and a number that makes it unique."""
State = tuple[int, int]
"""See `ClusterLine.quotas` and `ClusterLine.turns`."""


@dataclass(slots=True, eq=False)
class Waiting:
    """A Workload that waits for quota."""

    key: str
    workload: Workload
    """The newest state."""
    place: Place
    shape: bytes
    until: int | None
    """requeueAt, in microseconds."""
    held_back: bool
    local: LocalLine
    alike: Alike | None = None
    """None while its LocalQueue has no ClusterQueue or is not active."""
    line: Line | None = None
    """None while it backs off, or `alike` is None."""
    timer: Time | None = None
    asked: tuple[Workload, State, State] | None = None
    """What `heads` returned last, if there is no answer yet; and the `quotas` and `turns` of that time."""
    tried: tuple[Tried, State] | None = None
    told: str = ""
    """Why it waits, as the caller knows."""

    @property
    def is_ready(self) -> bool:
        """Whether it may be a head, if its ClusterQueue is active."""
        return self.alike is not None and self.line is self.alike.ready

    @property
    def is_sticky(self) -> bool:
        """Whether it is the one that waits for its own preemptions."""
        return self.alike is not None and self.alike.cluster.sticky is self

    @property
    def last_tried(self) -> Tried | None:
        """What its last search tried, unless quota was freed since then."""
        if self.tried is None or self.alike is None or self.tried[1] != self.alike.cluster.quotas:
            return None
        return self.tried[0]

    def is_asked_in(self, tree: Tree) -> bool:
        """Whether `heads` returned it for this tree, and there is no answer yet."""
        return self.asked is not None and self.alike is not None and self.alike.cluster.tree is tree


class Line(LazyHeap[Place, Waiting]):
    """Workloads in their order."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        super().__init__()
        self.size = 0

    def holds(self, place: Place, item: Waiting) -> bool:
        return item.line is self and item.place is place

    def head(self) -> Waiting | None:
        entry = self.first()
        return None if entry is None else entry[1]

    def add(self, waiting: Waiting) -> None:
        """Take it in, also out of another line."""
        if waiting.line is not None:
            waiting.line.size -= 1
        waiting.line = self
        self.size += 1
        self.push(waiting.place, waiting)

    def discard(self, waiting: Waiting) -> None:
        if waiting.line is self:
            waiting.line = None
            self.size -= 1

    def take_all(self, other: Line) -> None:
        """Also those of another line, which is empty then."""
        for waiting in list(other.items()):
            self.add(waiting)
        other.clear()


@dataclass(slots=True, eq=False)
class Alike:
    """The Workloads of one shape in one ClusterQueue."""

    cluster: ClusterLine
    shape: bytes
    ready: Line = field(default_factory=Line)
    parked: Line = field(default_factory=Line)
    members: int = 0
    """With those that back off."""
    timer: Time | None = None
    """When the parked ones are tried again, although nothing has changed."""
    sorted: Place | None = None
    """By which its ClusterQueue has sorted it; None if it was without a head."""
    told: str = ""
    """Why the last ones were parked together."""
    untold: set[Waiting] = field(default_factory=set)
    """Members that may have got another answer. They are kept so that no answer needs a walk over all members."""

    def answered(self, waiting: Waiting, reason: str) -> None:
        """One of them got an answer of its own."""
        waiting.told = reason
        if reason != self.told:
            self.untold.add(waiting)

    def park(
        self, waiting: Waiting, reason: str, *, with_equals: bool, apart: Iterable[Waiting] = ()
    ) -> list[str]:
        """Park it, and perhaps all behind it but those `apart`. Returns the keys of those that did not have
        this reason yet."""
        if with_equals:
            kept = [each for each in apart if each.line is self.ready and each is not waiting]
            for each in kept:
                self.ready.discard(each)
            self._park_from(waiting.place)
            for each in kept:
                self.ready.add(each)
            return self._tell(reason)
        if waiting.line is self.ready:
            self.parked.add(waiting)
        return []

    def release(self) -> None:
        if self.parked.size > self.ready.size:
            self.ready, self.parked = self.parked, self.ready
        self.ready.take_all(self.parked)
        self.timer = None

    def _park_from(self, place: Place) -> None:
        ahead: list[Waiting] = []
        while (head := self.ready.head()) is not None and head.place < place:
            self.ready.discard(head)
            ahead.append(head)
        if self.ready.size > self.parked.size:
            self.ready, self.parked = self.parked, self.ready
        self.parked.take_all(self.ready)
        for waiting in ahead:
            self.ready.add(waiting)

    def _tell(self, reason: str) -> list[str]:
        """Give the parked ones this reason. Returns the keys of those that did not have it yet."""
        if reason != self.told:
            self.told = reason
            self.untold.update(self.parked.items(), self.ready.items())
        parked = {each for each in self.untold if each.line is self.parked}
        self.untold -= parked
        news = sorted(each.key for each in parked if each.told != reason)
        for each in parked:
            each.told = reason
        return news


class _Order(LazyHeap[Place, Alike]):
    """Classes in the order of their heads."""

    __slots__ = ()

    def holds(self, place: Place, item: Alike) -> bool:
        head = item.ready.head()
        return head is not None and head.place is place


class Timers(LazyHeap[Time, Waiting | Alike]):
    """Who comes back by time alone."""

    __slots__ = ()

    def holds(self, place: Time, item: Waiting | Alike) -> bool:
        return item.timer is place


@dataclass(slots=True, eq=False)
class Tree:
    """A cohort tree."""

    name: str
    clusters: set[ClusterLine] = field(default_factory=set)
    freed: int = 0
    """A number for the last time when quota was freed."""
    returned: int = 0
    """A number for the last time when parked Workloads came back."""
    released: int | None = None
    """That time in microseconds, if there were any."""

    def first_parked(self) -> Place | None:
        """The place of the first one that is parked in an active ClusterQueue."""
        lines = [alike.parked for each in self.clusters if each.active for alike in each.parked]
        heads = [line.head() for line in lines]
        return min((head.place for head in heads if head is not None), default=None)

    def is_passed_by(self, waiting: Waiting) -> bool:
        """Whether somebody is parked who comes before it."""
        first = self.first_parked()
        return first is not None and first < waiting.place


@dataclass(slots=True, eq=False)
class LocalLine:
    """A LocalQueue. It is also here while it does not exist and Workloads name it."""

    key: str
    exists: bool = False
    active: bool = False
    cluster: ClusterLine | None = None
    waiting: dict[str, Waiting] = field(default_factory=dict)

    def counts(self) -> tuple[int, int]:
        """How many may be heads, and how many others there are."""
        ready = 0
        if self.cluster is not None and self.cluster.active:
            ready = sum(each.is_ready for each in self.waiting.values())
        return ready, len(self.waiting) - ready


@dataclass(slots=True, eq=False)
class ClusterLine:
    """A ClusterQueue. It is also here while it does not exist and LocalQueues name it."""

    name: str
    tree: Tree
    strategy: str = ""
    exists: bool = False
    active: bool = False
    changes: int = 0
    locals: set[LocalLine] = field(default_factory=set)
    sticky: Waiting | None = None
    """The Workload that waits for its own preemptions."""
    classes: dict[bytes, Alike] = field(default_factory=dict)
    parked: set[Alike] = field(default_factory=set)
    """The classes that have parked Workloads."""
    _order: _Order = field(default_factory=_Order)

    @property
    def best_effort(self) -> bool:
        return self.strategy == "BestEffortFIFO"

    @property
    def quotas(self) -> State:
        """Another one after quota was freed. What a search tried is out of date then."""
        return self.tree.freed, self.changes

    @property
    def turns(self) -> State:
        """Another one after parked Workloads came back. An answer from before parks nobody then."""
        return self.tree.returned, self.changes

    def counts(self) -> tuple[int, int]:
        """How many may be heads, and how many others there are."""
        classes = self.classes.values()
        ready = sum(alike.ready.size for alike in classes) if self.active else 0
        return ready, sum(alike.members for alike in classes) - ready

    def head(self) -> Waiting | None:
        """Who is next."""
        if self.best_effort and self.sticky is not None and self.sticky.is_ready:
            return self.sticky
        entry = self._order.first()
        return None if entry is None else entry[1].ready.head()

    def enter(self, waiting: Waiting) -> Alike:
        """Count it in the class of its shape. It is in no line yet."""
        alike = self.classes.get(waiting.shape)
        if alike is None:
            alike = self.classes[waiting.shape] = Alike(self, waiting.shape)
        waiting.shape = alike.shape
        alike.members += 1
        return alike

    def leave(self, waiting: Waiting, alike: Alike) -> None:
        """Forget it."""
        if waiting.line is not None:
            waiting.line.discard(waiting)
        alike.untold.discard(waiting)
        alike.members -= 1
        if self.sticky is waiting:
            self.sticky = None
        if not alike.members:
            alike.timer = None
            del self.classes[alike.shape]
        self.sort(alike)

    def sort(self, alike: Alike) -> None:
        """To call after every change of the lines of a class."""
        head = alike.ready.head()
        place = None if head is None else head.place
        if place is not None and place is not alike.sorted:
            self._order.push(place, alike)
        alike.sorted = place
        if alike.parked.size:
            self.parked.add(alike)
        else:
            self.parked.discard(alike)
