"""What becomes of pods and Workloads as things are: the form in which both engines answer, and how answers differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from api.waits import PodCount

__all__ = ["Change", "Fate", "FateState", "Plane", "changes", "still_unknown"]

Plane = Literal["Nodes", "Quota"]
FateState = Literal[
    "Fits", "Preempts", "Waits", "Unknown", "Stays", "CouldBeTakenBack", "Preempted", "Drained"
]
"""Of one that waits: it fits, it fits once others are gone, or it waits. Of one that has room or quota: it keeps it,
another ClusterQueue could take it back, one that waits now would evict it, or its queue evicts all its Workloads.
Unknown: something that is not modelled decides."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one object, on nodes or about quota."""

    plane: Plane
    kind: str
    name: str
    """NAMESPACE/NAME."""
    state: FateState
    reason: str
    """One word that says more about the state, in CamelCase; "" if there is nothing to say."""
    sentence: str
    because: tuple[str, ...] = ()
    """The preemptors it would be evicted for, or the victims it would evict."""
    pod_sets: tuple[PodCount, ...] = ()
    """The pods for which a Workload that waits gets quota; empty if it gets none."""

    holds: bool = False
    """Whether it has room or quota already, if the state is Unknown."""

    @property
    def waits(self) -> bool:
        """Whether it has no room or quota yet."""
        return self.state in ("Fits", "Preempts", "Waits") or (self.state == "Unknown" and not self.holds)


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of objects in two worlds. The two fates are the same for all of them, apart from the names."""

    now: Fate | None
    """None: it is nothing that could wait or be evicted."""
    then: Fate | None
    names: tuple[str, ...]
    """NAMESPACE/NAME of the objects, in order."""

    @property
    def known(self) -> Fate:
        """The later fate, or the earlier one if there is no later one."""
        fate = self.then or self.now
        assert fate is not None  # noqa: S101 - `changes` makes no change of nothing
        return fate


def changes(now: Mapping[str, Fate], then: Mapping[str, Fate]) -> list[Change]:
    """The objects whose state, reason or number of pods differs, by the key that they have in both worlds.

    An object that is in one world only counts if it is new and waits: others have become a part of something else.
    """
    return _alike(_pairs(now, then))


def still_unknown(now: Mapping[str, Fate], then: Mapping[str, Fate]) -> list[Change]:
    """The objects whose fate is not known in both worlds, and the same as far as it is."""
    both = ((now[key], then[key]) for key in sorted(now.keys() & then.keys()))
    return _alike(
        (before, after)
        for before, after in both
        if before.state == after.state == "Unknown" and before.reason == after.reason
    )


def _alike(differ: Iterable[tuple[Fate | None, Fate | None]]) -> list[Change]:
    """Objects with the same pair of fates are one change."""
    found: dict[tuple[object, ...], list[str]] = {}
    pairs: dict[tuple[object, ...], tuple[Fate | None, Fate | None]] = {}
    for before, after in differ:
        known = after or before
        if known is None:
            continue
        key = (known.plane, known.kind, _but_name(before), _but_name(after))
        names = found.setdefault(key, [])
        if known.name not in names[-1:]:  # the pods of a unit come one after the other
            names.append(known.name)
        pairs.setdefault(key, (before, after))
    return [Change(*pairs[key], tuple(sorted(set(names)))) for key, names in found.items()]


def _pairs(now: Mapping[str, Fate], then: Mapping[str, Fate]) -> Iterator[tuple[Fate | None, Fate | None]]:
    for key in sorted({*now, *then}):
        before, after = now.get(key), then.get(key)
        if before is None or after is None:
            if before is None and after is not None and after.waits:
                yield before, after
        elif _essence(before) != _essence(after):
            yield before, after


def _essence(fate: Fate) -> tuple[object, ...]:
    return fate.state, fate.reason, fate.pod_sets


def _but_name(fate: Fate | None) -> tuple[object, ...]:
    return () if fate is None else (fate.state, fate.reason, fate.sentence, fate.because)
