"""The pods that use claims: what is behind their claims is part of their class, and changes without them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from nodes.filters.pod_volumes import ClaimReference
from nodes.state.columns.classes import PodClass, with_claims
from nodes.state.columns.columns import Register
from nodes.state.columns.shared import SharedDict
from nodes.state.volumes.volume_facts import ClaimKey, ClaimUse
from nodes.state.volumes.volumes import VolumeTable

__all__ = ["Claimants"]


class _Claimant(NamedTuple):
    bare: int
    """The row of its class without its claims."""
    claims: tuple[ClaimReference, ...]


class Claimants:
    """Pods with claims, by their row."""

    def __init__(self, volumes: VolumeTable) -> None:
        self._volumes = volumes
        self._pods: dict[int, _Claimant] = {}
        self._bare: Register[PodClass] = Register()
        """Classes of these pods without their claims."""
        self._users: dict[ClaimKey, set[int]] = {}
        self._uses: SharedDict[int, tuple[ClaimUse, ...]] = SharedDict()

    def resolved(self, bare: PodClass, claims: tuple[ClaimReference, ...]) -> PodClass:
        """The class of a pod with these claims."""
        return with_claims(bare, self._volumes.resolve(claims)) if claims else bare

    def note(self, row: int, bare: PodClass, claims: tuple[ClaimReference, ...]) -> None:
        """Keep what the pod in this row uses."""
        before = self._pods.get(row)
        if not claims and before is None:
            return
        if before is not None and before.claims == claims and self._bare.keys[before.bare] == bare:
            return
        self.forget(row)
        if claims:
            self._pods[row] = _Claimant(self._bare.hold(bare)[0], claims)
            for each in claims:
                self._users.setdefault((each.namespace, each.name), set()).add(row)
            self._look(row, claims)

    def forget(self, row: int) -> None:
        """The pod in this row is gone, or uses other claims."""
        before = self._pods.pop(row, None)
        if before is None:
            return
        self._uses.own().pop(row)
        self._bare.drop(before.bare)
        for key in {(each.namespace, each.name) for each in before.claims}:
            self._users[key].discard(row)
            if not self._users[key]:
                del self._users[key]

    def users(self, claims: Iterable[ClaimKey]) -> list[int]:
        """Rows of the pods that use one of these claims, sorted."""
        return sorted({row for claim in claims for row in self._users.get(claim, ())})

    def claims_of(self, rows: Iterable[int]) -> set[ClaimKey]:
        """The claims that the pods in these rows use."""
        known = (self._pods[row].claims for row in rows if row in self._pods)
        return {(each.namespace, each.name) for claims in known for each in claims}

    def look_again(self, row: int) -> tuple[PodClass, bool]:
        """Something else may be behind the claims of the pod in this row.

        Returns its class now, and whether its node attaches other volumes for it than before.
        """
        claimant, before = self._pods[row], self._uses.items.get(row)
        self._look(row, claimant.claims)
        volumes = self._volumes.resolve(claimant.claims)
        return with_claims(self._bare_class(claimant), volumes), self._uses.items.get(row) != before

    def uses_of(self, row: int) -> tuple[ClaimUse, ...]:
        """The claims of the pod in this row."""
        return self._uses.items.get(row, ())

    def share(self) -> Mapping[int, tuple[ClaimUse, ...]]:
        """The claims of each pod that has any, for a snapshot to keep."""
        return self._uses.share()

    def _bare_class(self, claimant: _Claimant) -> PodClass:
        bare = self._bare.keys[claimant.bare]
        if bare is None:
            raise LookupError(f"the class in row {claimant.bare} is free")
        return bare

    def _look(self, row: int, claims: tuple[ClaimReference, ...]) -> None:
        uses = self._volumes.uses(claims)
        if self._uses.items.get(row) != uses:
            self._uses.own()[row] = uses
