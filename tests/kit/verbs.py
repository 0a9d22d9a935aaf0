"""A world for the verbs that stands still, and the pod that the scheduler asks them about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.clock import SYSTEM_CLOCK
from api.core import Pod
from controllers.gangs.answering import AnyOf, BoundPod, FreeRoom, Hold, InPass, Offer, Within
from controllers.gangs.promised.reservations import Reservations
from hack.controlplane import objects

__all__ = ["StillWorld", "pod"]


@dataclass
class StillWorld:
    """A world that stands still, and notes the calls."""

    answer: Hold | Offer | AnyOf | InPass | Within | FreeRoom | None = None
    full: Collection[str] = ()
    """Nodes whose room is reserved."""
    spared: Collection[str] = ()
    """Nodes with a unit that kube-scheduler does not know."""
    pods: dict[str, BoundPod] = field(default_factory=dict)
    decides: bool = True
    follows: bool = False
    """It does not decide because another process may lead."""
    plans: bool = False
    """Plans are made for pods that preempt alone."""
    evicts: bool = False
    """Evictions for every pod go on."""
    read: list[Mapping[str, Collection[str]] | None] = field(default_factory=list)
    """The candidates of each preempt call for a member."""
    observed: bool = False
    """Every pod is left to its scheduler."""
    told: list[str] = field(default_factory=list)
    passed: list[list[str]] = field(default_factory=list)
    """Each time that a pod was let through, the nodes; none: any node."""
    reservations: Reservations = field(default_factory=lambda: Reservations(SYSTEM_CLOCK))

    @property
    def promises_room(self) -> bool:
        return len(self.reservations) > 0

    def is_promised(self, node: str, *, at_least: int | None = None) -> bool:
        return self.reservations.is_reserved(node, at_least=at_least)

    def is_awaited(self, uid: str, *, at_least: int | None = None) -> bool:
        return self.reservations.awaits(uid, at_least=at_least)

    def observes(self, pod: Pod) -> bool:
        return self.observed

    def heard(self, pod: Pod, candidates: Mapping[str, Collection[str]] | None) -> None:
        self.told.append(f"heard {pod.metadata.name} {candidates}")

    def taken(self, pod: Pod, names: Iterable[str]) -> list[str]:
        return self.barred(pod, names)

    def verdict(self, pod: Pod) -> Hold | Offer | AnyOf | InPass | Within | FreeRoom | None:
        return self.answer

    def in_pass(self, pod: Pod, tried: InPass, nodes: list[str]) -> Hold | Offer:
        self.told.append(f"in pass {pod.metadata.name} {' '.join(nodes)}")
        return Offer(tried.node) if tried.node is not None else tried.otherwise

    def free_node(self, pod: Pod, names: Collection[str]) -> str | None:
        return next((name for name in names if name not in self.full), None)

    def offered(self, pod: Pod, *, among: bool) -> None:
        self.told.append(f"offered {pod.metadata.name} {among}")

    def held(self, pod: Pod) -> None:
        self.told.append(f"held {pod.metadata.name}")

    def outside(self, pod: Pod) -> None:
        self.told.append(f"outside {pod.metadata.name}")

    def attempted(self, pod: Pod) -> None:
        """See Face."""

    def let_through(self, pod: Pod, nodes: Collection[str]) -> None:
        self.passed.append(sorted(nodes))

    def barred(self, pod: Pod, names: Iterable[str]) -> list[str]:
        return [name for name in names if name in self.full]

    def spares(self, pod: Pod, names: Sequence[str]) -> list[str]:
        return [name for name in names if name in self.spared]

    def priority(self, pod: Pod) -> int:
        return pod.spec.priority or 0

    def why_no_evictions(self, pod: Pod) -> str:
        """Nobody is in a group."""
        return ""

    def bound(self, uid: str) -> BoundPod | None:
        return self.pods.get(uid)

    def answered_in_vain(self, pod: Pod) -> None:
        """See Face."""

    def filter_called(self, pod: Pod, nodes: list[str]) -> None:
        """See Face."""

    def evicts_for(self, pod: Pod) -> bool:
        return self.evicts

    def preempt_called(self, pod: Pod, candidates: Mapping[str, Collection[str]] | None) -> None:
        self.told.append(f"preempt {pod.metadata.name}")
        self.read.append(candidates)

    def preempts_alone(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> bool:
        self.told.append(f"alone {pod.metadata.name} {' '.join(sorted(candidates))}")
        return self.plans

    def nothing_to_evict(self, pod: Pod, reasons: Mapping[str, str]) -> None:
        self.told.append(f"nothing {' '.join(sorted(reasons))}")


def pod(priority: int = 0, cpu: str = "1") -> dict[str, Any]:
    """A pod that waits, as the scheduler sends it."""
    made = objects.pod("p", "team", cpu=cpu, priority=priority)
    made["metadata"]["uid"] = "uid-p"
    return made
