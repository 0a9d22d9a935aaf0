"""What is behind the claims of one pod, while it is collected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from api.quantity import Quantity
from nodes.filters.pod_volumes import ClaimReference, ClassStorage, PodVolumes, UnboundClaim
from nodes.state.volumes.volume_facts import ClaimFacts

__all__ = ["Found", "Size", "refusal_of"]


@dataclass(slots=True)
class Found:
    """What has been found behind the claims of a pod so far."""

    is_complete: bool
    refusals: list[str] = field(default_factory=list)
    affinity: list[Any] = field(default_factory=list)
    zones: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    exclusive: set[str] = field(default_factory=set)
    unbound: list[tuple[UnboundClaim, ClassStorage]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def lacks(self, name: str, refusal: str) -> None:
        """Something is not there: no node takes the pod, or somebody has left it out, which is named."""
        if self.is_complete:
            self.refusals.append(refusal)
        else:
            self.names.add(name)

    def volumes(self) -> PodVolumes:
        """All of it. The scheduler looks at the smallest claims first."""
        unbound = sorted(self.unbound, key=lambda each: Size(each[0].size))
        return PodVolumes(
            refusal=self.refusals[0] if self.refusals else "",
            affinity=tuple(self.affinity),
            zones=tuple(self.zones),
            exclusive=tuple(sorted(self.exclusive)),
            unbound=tuple(claim for claim, _ in unbound),
            storage=tuple(storage for _, storage in unbound),
            unmodelled=tuple(sorted(self.names)),
        )


class Size:
    """Orders quantities."""

    __slots__ = ("_size",)

    def __init__(self, size: Quantity) -> None:
        self._size = size

    def __lt__(self, other: Size) -> bool:
        return other._size.exceeds(self._size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and not (self < other or other < self)


def refusal_of(reference: ClaimReference, claim: ClaimFacts) -> str:
    """Why nobody can use the claim now, in the scheduler's words."""
    shown = f'persistentvolumeclaim "{reference.name}"'
    if claim.lost:
        return f'{shown} bound to non-existent persistentvolume "{claim.volume}"'
    if claim.terminating:
        return f"{shown} is being deleted"
    if reference.is_ephemeral and reference.owner != claim.controller:
        return f"PVC {reference.namespace}/{reference.name} was not created for pod (pod is not owner)"
    return ""
