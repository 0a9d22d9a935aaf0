"""Where the seconds of one preemption go, as the API server's watches show it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from bench.place import REPRIEVE, Place
from bench.watching import Watching, between
from hack.controlplane.client import Json

__all__ = ["STEPS", "Carried", "Timeline"]

STEPS: Final = ("decide", "confirm", "evict", "terminate", "wake", "bind")
"""decide: from the last member to the plan that evicts. confirm: to the phase Evicting. evict: to the last deletion
that is asked for. terminate: to the last pod that is gone. wake: to the first member that is bound. bind: to the last
one."""


@dataclass(frozen=True)
class Carried:
    """How long it took to carry out a plan that evicts, in seconds."""

    to_eviction: float
    """From the plan to the first deletion that is asked for."""
    to_bound: float
    """From the plan to the last member that is bound."""
    empty: float
    """From the last victim that is gone to the last member that is bound."""


class _Pods(Watching):
    """When members were bound, and when other pods went."""

    def __init__(self, place: Place, members: Iterable[str]) -> None:
        self.members = set(members)
        self.bound: dict[str, float] = {}
        """When each member was bound, by name."""
        self.evicted: dict[str, float] = {}
        """When the deletion of each other pod was seen first, by name."""
        self.gone = 0.0
        """When the last of these was gone."""
        super().__init__(place.client, "v1", "Pod", place.namespace)

    def note(self, event: str, item: Json, now: float) -> None:
        """See `Watching`."""
        name = item["metadata"]["name"]
        if name in self.members:
            if item["spec"].get("nodeName"):
                self.bound.setdefault(name, now)
        elif item["metadata"].get("deletionTimestamp") or event == "DELETED":
            self.evicted.setdefault(name, now)
            if event == "DELETED":
                self.gone = now


class _Phases(Watching):
    """When the plan of one preemptor was first seen in each phase; "" as soon as it exists."""

    def __init__(self, place: Place, preemptor: str) -> None:
        self._preemptor = preemptor
        self.seen: dict[str, float] = {}
        super().__init__(place.client, REPRIEVE, "PreemptionPlan", place.namespace)

    def note(self, event: str, item: Json, now: float) -> None:
        """See `Watching`."""
        if item["spec"]["preemptor"]["name"] != self._preemptor or item["spec"]["outcome"] != "Preempts":
            return
        self.seen.setdefault("", now)
        phase = item.get("status", {}).get("phase")
        if phase:
            self.seen.setdefault(phase, now)


class Timeline:
    """Watches the pods and plans of a place while the context lasts. All times are monotonic seconds."""

    def __init__(self, place: Place, preemptor: str, members: Iterable[str], *, plans: bool) -> None:
        self._pods = _Pods(place, members)
        self._phases = _Phases(place, preemptor) if plans else None
        self._complete = 0.0
        self._watching = ExitStack()

    def __enter__(self) -> Self:
        for each in (self._pods, self._phases):
            if each is not None:
                self._watching.enter_context(each)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watching.close()

    def complete(self) -> None:
        """The last member has been created: the clock starts."""
        self._complete = time.monotonic()

    def wait_bound(self, seconds: float) -> None:
        """Until all members are bound, or the time is over."""
        pods = self._pods
        with pods.changed:
            pods.changed.wait_for(lambda: pods.members <= pods.bound.keys(), seconds)

    @property
    def bound(self) -> Collection[str]:
        """The members that were bound."""
        return self._pods.bound

    @property
    def evicted(self) -> Collection[str]:
        """The other pods whose deletion was seen."""
        return self._pods.evicted

    @property
    def evicting(self) -> float:
        """Seconds from the first of these deletions to the last."""
        return between(self._pods.evicted.values())

    @property
    def seconds(self) -> float:
        """From the last member that was created to the last one that was bound."""
        return max(self._pods.bound.values(), default=self._complete) - self._complete

    def steps(self) -> dict[str, float]:
        """The seconds of each of STEPS. Empty if there was no plan that evicts, or if no member is bound."""
        pods, phases = self._pods, self._phases.seen if self._phases is not None else {}
        if "Evicting" not in phases or not pods.bound or not pods.evicted:
            return {}
        ends = (
            phases[""],
            phases["Evicting"],
            max(pods.evicted.values()),
            pods.gone,
            min(pods.bound.values()),
            max(pods.bound.values()),
        )
        starts = (self._complete, *ends)
        return {step: max(0.0, end - start) for step, start, end in zip(STEPS, starts, ends, strict=False)}

    def carried(self) -> Carried | None:
        """The seconds of the plan. None if there was none that evicts, or if a member is not bound."""
        pods, phases = self._pods, self._phases.seen if self._phases is not None else {}
        if "" not in phases or not pods.evicted or not pods.members <= pods.bound.keys():
            return None
        last, planned = max(pods.bound.values()), phases[""]
        return Carried(min(pods.evicted.values()) - planned, last - planned, last - pods.gone)
