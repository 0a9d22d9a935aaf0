"""Pods that want a plan of their own: the scheduler would evict for them where a group is evicted whole or not at all.

The preempt verb takes such a pod's candidates, and answers with no node. Then a plan is made over these candidates, or
the pod comes back to the scheduler, and its calls are answered without a plan for a while.

See docs/decisions/0035.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from api.backoff import Backoff, Patience
from api.clock import Clock
from controllers.gangs.keys import GroupKey, LonePod, lone_pod

__all__ = ["Singles"]

WISH_SECONDS: Final = 30.0
"""Seconds that a pod waits for its plan. Then it comes back to the scheduler without one."""


@dataclass(frozen=True, slots=True)
class _Wish:
    nodes: frozenset[str]
    until: float


class Singles:
    """The wishes of one term. All times are monotonic seconds."""

    def __init__(self, clock: Clock, backoff: Backoff, bring_back: Callable[[LonePod], None]) -> None:
        """`backoff`: between two wishes of a pod. `bring_back` has a pod come back to the scheduler."""
        self._clock, self._backoff, self._bring_back = clock, backoff, bring_back
        self._wishes: dict[GroupKey, _Wish] = {}
        self._patience: dict[GroupKey, Patience] = {}
        """How often no plan came of a pod's wishes, and when it may wish again."""
        self._returns: dict[GroupKey, float] = {}
        """When pods come back to wish again."""

    def __len__(self) -> int:
        """Pods that want a plan, or that come back for one."""
        return len(self._wishes) + len(self._returns)

    def wish(self, key: GroupKey, nodes: Iterable[str]) -> bool:
        """The pod wants a plan on one of these nodes. Returns false if it has to do without one for a while."""
        now, patience = self._clock.monotonic(), self._patience.get(key)
        if patience is not None and now < patience.until:
            return False
        self._returns.pop(key, None)
        before = self._wishes.get(key)
        until = before.until if before is not None else now + WISH_SECONDS
        self._wishes[key] = _Wish(frozenset(nodes), until)
        return True

    def wants(self, key: GroupKey) -> bool:
        """Whether the pod waits for a plan."""
        return key in self._wishes

    def nodes(self, key: GroupKey) -> frozenset[str]:
        """Where the scheduler would evict for the pod; empty if it wants no plan."""
        wish = self._wishes.get(key)
        return wish.nodes if wish is not None else frozenset()

    def planned(self, key: GroupKey) -> None:
        """The preemptor has a plan. For a PodGroup this says nothing."""
        self._wishes.pop(key, None)

    def give_up(self, key: GroupKey, *, again: bool = False) -> None:
        """The preemptor has no plan, or its plan came to nothing. For a PodGroup this says nothing.

        A pod comes back to the scheduler, once. `again`: it comes back once more when it may wish again, because the
        next plan need not come to nothing, and no event of the scheduler's may follow.
        """
        pod, now = lone_pod(key), self._clock.monotonic()
        self._wishes.pop(key, None)
        if pod is None:
            return
        patience = self._patience.setdefault(key, Patience())
        if now < patience.until:
            return
        patience.put_off(now, self._backoff)
        if again:
            self._returns[key] = patience.until
        self._bring_back(pod)

    def expire(self) -> list[GroupKey]:
        """Give up who has waited too long, and bring back who may wish again. Returns the keys of the former."""
        now = self._clock.monotonic()
        for key in [key for key, due in self._returns.items() if due <= now]:
            del self._returns[key]
            if (pod := lone_pod(key)) is not None:
                self._bring_back(pod)
        expired = [key for key, wish in self._wishes.items() if wish.until <= now]
        for key in expired:
            self.give_up(key, again=True)
        return expired

    def forget(self, key: GroupKey) -> None:
        """The pod is bound or gone."""
        self._wishes.pop(key, None)
        self._patience.pop(key, None)
        self._returns.pop(key, None)
