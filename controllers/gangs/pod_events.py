"""Who hears of a pod's event, in which order, and why in this order.

What every process knows hears of each event. What acts in a term hears of it while there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from api.core import Pod

__all__ = ["ORDER", "Hear", "Place", "PodEvents"]

Hear = Callable[[str, Pod | None], object]
"""Called with a pod's UID and its newest state; None when it is gone, or has ended."""


class Place(NamedTuple):
    """One who hears."""

    who: str
    after: str = ""
    """Who has to hear before; empty if that does not matter."""
    why: str = ""


ORDER: Final = (
    # It asks what the others are about to end.
    Place("arrivals"),
    Place("state before"),
    # What every process knows. The tables have the pod's new state already.
    Place(
        "claims",
        "arrivals",
        "the grant and the claim of a pod that is bound end here; they say whether it had asked",
    ),
    Place("workload claims"),
    Place("waiting"),
    Place("pending"),
    Place("marked"),
    Place("scheduler marks"),
    Place("gated"),
    Place("service accounts"),
    # What acts, or will act.
    Place("evidence"),
    Place("undoing", "gated", "it looks at the pod as all of what every process knows shows it"),
    Place("strays", "marked", "it looks at the pod's mark as it is from this event on"),
    Place("broken units", "scheduler marks", "it looks at the scheduler's mark as it is from this event on"),
    Place("lone preemptors"),
    Place("gates", "gated", "it looks at the pod's gate as it is from this event on"),
    Place("waking"),
    Place("gates removed", "gated", "only that knows whether the event took the last gate of a group"),
)
"""Where nothing is said, two may change places: they neither ask nor change one another."""


class PodEvents:
    """Tells all of them."""

    def __init__(self, known: Mapping[str, Hear]) -> None:
        """`known`: whoever hears in every process, by its name in ORDER."""
        self._known = known
        self._hear = _arranged(known)

    def begin(self, acting: Mapping[str, Hear], pods: Iterable[tuple[str, Pod]]) -> None:
        """A term begins: these hear as well. They first hear of pods (UID) that came before."""
        for uid, pod in pods:
            for hear in _arranged(acting):
                hear(uid, pod)
        self._hear = _arranged({**self._known, **acting})

    def end(self) -> None:
        """The term is over."""
        self._hear = _arranged(self._known)

    def changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone, or has ended."""
        for hear in self._hear:
            hear(uid, pod)


def _arranged(hearers: Mapping[str, Hear]) -> tuple[Hear, ...]:
    return tuple(hearers[place.who] for place in ORDER if place.who in hearers)
