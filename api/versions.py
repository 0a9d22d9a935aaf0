"""Which of two states of an object is the newer one."""

from __future__ import annotations

from typing import NamedTuple

from api.meta import ObjectMeta

__all__ = ["Version"]


class Version(NamedTuple):
    """An object's identity and age; `number` is -1 where the resource version is no int64."""

    uid: str
    number: int

    @classmethod
    def of(cls, meta: ObjectMeta) -> Version:
        """From metadata; hand-written objects have neither."""
        text = meta.resource_version
        return cls(meta.uid, int(text) if text.isdecimal() and text.isascii() and len(text) < 19 else -1)

    def is_stale(self, held: Version) -> bool:
        """Whether `held`, of the same name, is this state or a newer one; never where either is unknown.

        Resource versions grow over all objects of a kind, so a former object of the same name is older too.
        """
        return 0 <= self.number < held.number or (0 <= self.number == held.number and self.uid == held.uid)
