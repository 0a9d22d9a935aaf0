"""A steady stream of ordinary pods, and the gaps between their bindings."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, pairwise
from types import TracebackType
from typing import Final, Self

from bench.place import Place
from bench.watching import Bindings

__all__ = ["Pauses", "Stream", "longest_gap"]

PODS_PER_SECOND: Final = 5.0
PRIORITY: Final = 1
NODES: Final = 10
LIMIT_SECONDS: Final = 120.0


@dataclass(frozen=True)
class Pauses:
    """How evenly pods were bound during a change."""

    gap: float
    """The longest one between two bindings, in seconds."""
    wait: float
    """The longest one of a pod from its creation to its binding, in seconds."""


class Stream:
    """Ordinary pods for one scheduler are created while the context lasts. They find room."""

    def __init__(self, place: Place, scheduler: str) -> None:
        """`scheduler`: the schedulerName of the pods."""
        self._place, self._scheduler = place, scheduler
        self._created: dict[str, float] = {}
        self._bindings = Bindings(place.client, place.namespace, "")
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self._creating: Future[None] | None = None
        place.add_nodes(place.node_names(NODES), cpu="1000", pods=10_000)
        place.priority_class(PRIORITY)

    def __enter__(self) -> Self:
        self._bindings.__enter__()
        self._creating = self._pool.submit(self._create)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._pool.shutdown()
        self._bindings.__exit__(kind, error, trace)
        if self._creating is not None and error is None:
            self._creating.result()

    def pauses(self, began: float, ended: float) -> Pauses:
        """Those between these two moments, in monotonic seconds. Waits for the pods that were created by then.

        Raises TimeoutError if a pod is not bound.
        """
        created = {name: at for name, at in list(self._created.items()) if at <= ended}
        self._bindings.wait(created, LIMIT_SECONDS)
        with self._bindings.changed:
            bound = {name: self._bindings.bound[name] for name in created}
        waits = (bound[name] - at for name, at in created.items() if bound[name] > began)
        return Pauses(longest_gap(bound.values(), began, ended), max(waits, default=math.inf))

    def _create(self) -> None:
        place, began = self._place, time.monotonic()
        for number in count():
            if self._over.wait(max(0.0, began + number / PODS_PER_SECOND - time.monotonic())):
                return
            name = f"ordinary-{number}"
            body = place.pod(name, priority=PRIORITY, cpu="10m", schedulerName=self._scheduler)
            self._created[name] = time.monotonic()
            place.client.create(body)


def longest_gap(moments: Iterable[float], began: float, ended: float) -> float:
    """The longest gap between two moments that lasts at some time between the two ends; infinite if there is none."""
    gaps = (after - before for before, after in pairwise(sorted(moments)) if after > began and before < ended)
    return max(gaps, default=math.inf)
