"""Compares two states of an object: which one is newer."""

from __future__ import annotations

from typing import Final

import msgspec

from api.meta import ObjectMeta

__all__ = ["UNKNOWN", "Version", "number_of"]

UNKNOWN: Final = -1
"""The number for a resource version that is not an int64. It is neither older nor newer than another number."""


def number_of(resource_version: str) -> int:
    """The resource version as a number, or UNKNOWN. API servers from 1.35 on promise that the numbers are ordered."""
    text = resource_version
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 19 else UNKNOWN


class Version(msgspec.Struct, gc=False):
    """The identity of an object and the version of its state.

    It must be small, because there is one for every object of the cluster.
    """

    uid: str
    number: int

    @classmethod
    def of(cls, meta: ObjectMeta) -> Version:
        """The version in the metadata. A hand-written object has no UID and no resource version."""
        return cls(meta.uid, number_of(meta.resource_version))

    def is_stale(self, held: Version) -> bool:
        """Whether `held`, of the same name, is this state or a newer state. False if one of the numbers is unknown.

        All objects of a resource share one growing sequence of versions. So a former object of the same name is older.
        """
        return 0 <= self.number < held.number or (0 <= self.number == held.number and self.uid == held.uid)
