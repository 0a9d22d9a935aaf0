"""What `reprieve queue` and `reprieve quota` read: the quota objects, and the labels of namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from answers.picture import Picture
from answers.reading.documents import Kind
from answers.reading.quota_objects import QuotaObjects
from api.core import Namespace

__all__ = ["QueueObjects"]

NAMESPACE: Final = ("v1", "Namespace")


class QueueObjects(QuotaObjects):
    """Every method raises InputError for an object that cannot be used."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **QuotaObjects.kinds,
        NAMESPACE: Kind(Namespace, False),
    }

    def __init__(self) -> None:
        super().__init__()
        self._namespaces: dict[str, Mapping[str, str]] = {}

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        if isinstance(thing, Namespace):
            self._namespaces[thing.metadata.name] = thing.metadata.labels or {}
        else:
            super().keep(thing, place)

    @property
    def namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of every Namespace that was read."""
        return self._namespaces

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`. Without Namespaces, an answer that needs their labels is Unknown."""
        return kind == NAMESPACE

    def all_of(self, moment: int) -> Picture:
        """What was read, with the labels of namespaces. `moment`: in microseconds since 1970."""
        return Picture(moment, self.picture(), self._namespaces)
