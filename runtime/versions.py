"""Which of two states of an object is the newer one."""

from __future__ import annotations

from typing import Final

import msgspec

from api.meta import ObjectMeta

__all__ = ["UNKNOWN", "Version", "number_of"]

UNKNOWN: Final = -1
"""The number of a resource version that is no int64: nothing is older or newer than it."""


def number_of(resource_version: str) -> int:
    """The resource version as a number. API servers from 1.35 on promise that they can be compared."""
    text = resource_version
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 19 else UNKNOWN


class Version(msgspec.Struct, gc=False):
    """An object's identity and the age of its state. One per object of the cluster: it must be small."""

    uid: str
    number: int

    @classmethod
    def of(cls, meta: ObjectMeta) -> Version:
        """From metadata; hand-written objects have neither UID nor resource version."""
        return cls(meta.uid, number_of(meta.resource_version))

    def is_stale(self, held: Version) -> bool:
        """Whether `held`, of the same name, is this state or a newer one. False where either number is unknown.

        Resource versions grow over all objects of a resource, so a former object of the same name is older too.
        """
        return 0 <= self.number < held.number or (0 <= self.number == held.number and self.uid == held.uid)
