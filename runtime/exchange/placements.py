"""What the quota plane asks the nodes plane: would the pods of a Workload find places once its victims are gone?

The nodes plane answers from the objects that it knows. Room that is promised to a Workload belongs to it until its pods
exist, or until it is released. Both planes are in one process, and everything runs on the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from api.core import Pod

__all__ = ["Answer", "Asking", "NoPlace", "Owner", "Place", "Placed", "Placements", "PodsOfSet"]


class Owner(NamedTuple):
    """Whose pods they are: a Job is the controller of its pods, and the label of a pod names its PodGroup."""

    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class PodsOfSet:
    """The pods of one pod set. None of them exists yet."""

    pod_set: str
    count: int
    pod: Pod
    """What each of them will be like, with what the admission adds."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The Workload that asks. All its pods must find places."""

    api_version: str
    namespace: str
    name: str
    uid: str
    owner: Owner
    """Whose pods they will be."""
    pods: tuple[PodsOfSet, ...]


class Place(NamedTuple):
    """The node of one pod."""

    pod: str
    """The pod set, and the number of the pod in it: `main-0`."""
    node: str


@dataclass(frozen=True, slots=True)
class Placed:
    """They find places, once all pods that may be evicted for them are gone."""

    places: tuple[Place, ...]
    in_use: frozenset[str] = frozenset()
    """UIDs of the victims that have pods on these nodes."""
    evicts: int = 0
    """How many pods of others than the victims have to be evicted, too: the nodes plane will evict them."""


@dataclass(frozen=True, slots=True)
class NoPlace:
    """They do not."""

    why: str
    """The constraint, in one sentence."""


Answer = Placed | NoPlace


class Placements(Protocol):
    """The nodes plane, as the quota plane sees it."""

    async def find(self, asking: Asking, victims: Sequence[Owner]) -> Answer:
        """Whether the pods find places once the pods of the victims are gone. Errors are an answer: NoPlace."""

    def hold(self, asking: Asking, places: Sequence[Place], victims: Sequence[Owner]) -> bool:
        """Promise this room to the Workload until its pods exist. The room of the victims' pods counts for it.

        What is promised to this Workload already stays as it is. Returns whether something is promised: nothing is
        while nodes and pods are not known yet.
        """

    def release(self, namespace: str, name: str, uid: str) -> None:
        """Nothing is promised to the Workload any longer. Nothing held is no error."""

    @property
    def changes(self) -> int:
        """Grows with every change of nodes and pods that can change an answer."""

    def told(self, listener: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `listener` when `changes` may have grown, until the end of the block."""
