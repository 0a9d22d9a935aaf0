"""The stored DispatchPlans, by the Workload that they are about."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from api.dispatch import DispatchPlan
from api.times import parse_rfc3339
from controllers.multikueue.life.seen import Turn

__all__ = ["StoredTurns", "TurnKey"]

K = TypeVar("K", bound=Hashable)
TurnKey = tuple[str, str]
"""(namespace, name)"""


class _Stored(NamedTuple):
    uid: str
    attempt: str
    turn: Turn
    plan: DispatchPlan


class StoredTurns:
    """A store of DispatchPlans (`runtime.mirror.views.Store`). It is small: a turn takes minutes."""

    def __init__(self) -> None:
        self._stored: dict[TurnKey, _Stored] = {}
        self._of: dict[str, set[TurnKey]] = {}
        """By the UID of the Workload."""
        self._named: dict[TurnKey, set[TurnKey]] = {}
        """By namespace and name of the Workload."""

    def upsert(self, item: DispatchPlan) -> bool:
        """See `Store`. Raises ValueError for times that cannot be read."""
        key = item.metadata.namespace, item.metadata.name
        stored = _Stored(item.spec.workload.uid, item.spec.workload.attempt, _turn(item), item)
        self._forget(key)
        self._stored[key] = stored
        self._of.setdefault(stored.uid, set()).add(key)
        self._named.setdefault(_workload_of(item), set()).add(key)
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        return self._forget((namespace, name))

    def of(self, uid: str, attempt: str) -> tuple[Turn, ...]:
        """Those of an attempt, in their order."""
        found = [self._stored[key] for key in self._of.get(uid, ())]
        return tuple(
            sorted((each.turn for each in found if each.attempt == attempt), key=lambda turn: turn.number)
        )

    def open_of_others(self, uid: str, attempt: str) -> tuple[Turn, ...]:
        """Those of the Workload's other attempts that do not say what became of them, by name."""
        return _open(
            self._stored[key] for key in self._of.get(uid, ()) if self._stored[key].attempt != attempt
        )

    def open_of_gone(self, namespace: str, name: str) -> tuple[Turn, ...]:
        """Those that do not say what became of them, by name, for a Workload that does not exist."""
        return _open(self._stored[key] for key in self._named.get((namespace, name), ()))

    def plan(self, namespace: str, name: str) -> DispatchPlan | None:
        """The stored object."""
        stored = self._stored.get((namespace, name))
        return stored.plan if stored is not None else None

    def __iter__(self) -> Iterator[DispatchPlan]:
        """All of them."""
        return (each.plan for each in self._stored.values())

    def _forget(self, key: TurnKey) -> bool:
        stored = self._stored.pop(key, None)
        if stored is None:
            return False
        _take(self._of, stored.uid, key)
        _take(self._named, _workload_of(stored.plan), key)
        return True


def _open(stored: Iterable[_Stored]) -> tuple[Turn, ...]:
    return tuple(sorted((each.turn for each in stored if not each.turn.is_over), key=lambda turn: turn.name))


def _take(index: dict[K, set[TurnKey]], at: K, key: TurnKey) -> None:
    keys = index[at]
    keys.discard(key)
    if not keys:
        del index[at]


def _workload_of(plan: DispatchPlan) -> TurnKey:
    return plan.metadata.namespace, plan.spec.workload.name


def _turn(plan: DispatchPlan) -> Turn:
    spec = plan.spec
    return Turn(
        plan.metadata.name,
        spec.number,
        spec.cluster,
        _microseconds(spec.began),
        _microseconds(spec.until),
        plan.status is not None and plan.status.phase != "Open",
    )


def _microseconds(time: str) -> int:
    return round(parse_rfc3339(time) * 1_000_000)
