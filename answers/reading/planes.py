"""The objects of both planes, for commands that ask both. What may not be listed is done without, if it can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from answers.errors import InputError
from answers.picture import Picture
from answers.reading.budgets import as_changed
from answers.reading.documents import Kind, Reader
from answers.reading.node_objects import HELPFUL, NodeObjects
from answers.reading.published import LEASE
from answers.reading.quota_objects import QuotaObjects
from api.owner_annotations import ByOwner
from nodes.answers.picture import NodesPicture
from quota.answers.picture import QuotaPicture
from quota.state.amounts import QuotaError
from quota.state.state import QuotaState

__all__ = ["POD", "QUOTA_KINDS", "Planes", "unread", "unusable_change"]

POD: Final = ("v1", "Pod")
QUOTA_KINDS: Final[Mapping[tuple[str, str], Kind]] = {
    # A Workload of somebody else that cannot be decided about must not prevent an answer.
    key: Kind(kind.struct, kind.namespaced)
    for key, kind in QuotaObjects.kinds.items()
}
QUOTA: Final = tuple(kind.struct for kind in QUOTA_KINDS.values())
MOST: Final = 5
"""The number of unusable objects that are named."""


class Planes(Reader):
    """Tables of nodes and pods, and the state of quota."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {**NodeObjects.kinds, **QUOTA_KINDS}
    matter: ClassVar[str] = "the answer"

    def __init__(self, now: int, by_owner: ByOwner | None = None) -> None:
        """`now`: in microseconds since 1970. `by_owner`: see `NodeObjects`."""
        super().__init__()
        self.now = now
        self.nodes = NodeObjects(by_owner=by_owner)
        self.quota = QuotaState(partial=True, deactivated_hold=False)
        self.refused: dict[tuple[str, str], str] = {}
        """Kinds that could not be read, and the right that is missing, or the version that is not read."""
        self.unusable_quota: list[str] = []
        """What is wrong with objects of the quota plane that could not be read."""

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`. Without pods there is no answer."""
        if kind != LEASE or self.nodes.asks_lease:
            self.refused[kind] = problem
        return kind != POD

    def replacing(self, thing: Any) -> Any:
        """See `Reader`."""
        return as_changed(thing)

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        if not isinstance(thing, QUOTA):
            self.nodes.keep(thing, place)
            return
        try:
            self.quota.apply(thing)
        except QuotaError as error:
            if self._replacing:
                raise unusable_change(place, str(error)) from None
            self.unusable_quota.append(str(error))

    def picture(self, *, nodes: bool = True) -> Picture:
        """What was read. Call it after the last object was read. `nodes`: whether anybody asks about nodes."""
        looked: NodesPicture | None = None
        why_not = ""
        try:
            looked = self.nodes.picture() if nodes else None
        except InputError as error:
            why_not = str(error)
        return Picture(
            moment=self.now,
            quota=QuotaPicture(self.quota),
            namespaces=dict(self.nodes.tables.namespaces),
            refused=self.refused,
            without_nodes=unread(self.refused),
            without_quota=unread(self.refused, QUOTA_KINDS),
            native=self.nodes.native,
            looked=looked,
            why_not=why_not,
        )

    def refused_notes(self) -> list[str]:
        """Lines that name what could not be read, and what does not count."""
        return [
            *(f"Not read: {problem}" for problem in dict.fromkeys(self.refused.values())),
            *self.nodes.misread_notes(),
            *(f"Not counted: {problem}" for problem in self.unusable_quota[:MOST]),
        ]


def unread(
    refused: Mapping[tuple[str, str], str], kinds: Iterable[tuple[str, str]] = NodeObjects.kinds
) -> str:
    """Why objects of these kinds could not be read; empty if all could be, as far as they are needed."""
    needed = [kind for kind in kinds if kind in refused and kind not in HELPFUL]
    return "; ".join(dict.fromkeys(refused[kind] for kind in needed))


def unusable_change(place: str, problem: str) -> InputError:
    """The error about a changed object: without it the answer would be about another change."""
    name = place.rpartition(", ")[2]
    return InputError(f"{place}: {problem.removeprefix(f'{name}: ')}")
