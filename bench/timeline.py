"""Where the seconds of one preemption go, as the API server's watches show it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final, Self

from bench.place import REPRIEVE, Place
from hack.controlplane.client import Json, Watch

__all__ = ["STEPS", "Timeline"]

STEPS: Final = ("decide", "confirm", "evict", "terminate", "wake", "bind")
"""decide: from the last member to the plan that evicts. confirm: to the phase Evicting. evict: to the last deletion
that is asked for. terminate: to the last pod that is gone. wake: to the first member that is bound. bind: to the last
one."""


class Timeline:
    """Watches the pods and plans of a place while the context lasts. All times are monotonic seconds."""

    def __init__(self, place: Place, preemptor: str, members: Iterable[str], *, plans: bool) -> None:
        self._preemptor, self._members = preemptor, set(members)
        self.bound: dict[str, float] = {}
        """When each member was bound, by name."""
        self.evicted: dict[str, float] = {}
        """When the deletion of each other pod was seen first, by name."""
        self._gone = 0.0
        self._phases: dict[str, float] = {}
        """When the preemptor's plan was first seen in each phase; "" as soon as it exists."""
        self._complete = 0.0
        self._changed = threading.Condition()
        client = place.client
        self._watches: list[tuple[Watch, threading.Thread]] = []
        self._follow(client.watch("v1", "Pod", place.namespace), self._note_pod)
        if plans:
            self._follow(client.watch(REPRIEVE, "PreemptionPlan", place.namespace), self._note_plan)

    def __enter__(self) -> Self:
        for _, thread in self._watches:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for watch, thread in self._watches:
            watch.close()
            thread.join()

    def complete(self) -> None:
        """The last member has been created: the clock starts."""
        self._complete = time.monotonic()

    def wait_bound(self, seconds: float) -> None:
        """Until all members are bound, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._members <= self.bound.keys(), seconds)

    @property
    def seconds(self) -> float:
        """From the last member that was created to the last one that was bound."""
        return max(self.bound.values(), default=self._complete) - self._complete

    def steps(self) -> dict[str, float]:
        """The seconds of each of STEPS. Empty if there was no plan that evicts, or if no member is bound."""
        if "Evicting" not in self._phases or not self.bound or not self.evicted:
            return {}
        ends = (
            self._phases[""],
            self._phases["Evicting"],
            max(self.evicted.values()),
            self._gone,
            min(self.bound.values()),
            max(self.bound.values()),
        )
        starts = (self._complete, *ends)
        return {step: max(0.0, end - start) for step, start, end in zip(STEPS, starts, ends, strict=False)}

    def _follow(self, watch: Watch, note: Callable[[str, Json, float], None]) -> None:
        def follow() -> None:
            for event in watch:
                now = time.monotonic()
                with self._changed:
                    note(event["type"], event["object"], now)
                    self._changed.notify_all()

        self._watches.append((watch, threading.Thread(target=follow, daemon=True)))

    def _note_pod(self, event: str, pod: Json, now: float) -> None:
        name = pod["metadata"]["name"]
        if name in self._members:
            if pod["spec"].get("nodeName"):
                self.bound.setdefault(name, now)
        elif pod["metadata"].get("deletionTimestamp") or event == "DELETED":
            self.evicted.setdefault(name, now)
            if event == "DELETED":
                self._gone = now

    def _note_plan(self, event: str, plan: Json, now: float) -> None:
        if plan["spec"]["preemptor"]["name"] != self._preemptor or plan["spec"]["outcome"] != "Preempts":
            return
        self._phases.setdefault("", now)
        phase = plan.get("status", {}).get("phase")
        if phase:
            self._phases.setdefault(phase, now)
