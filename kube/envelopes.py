"""What comes around the objects of a watch, and what is left of an object that cannot be read."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from api.meta import ObjectMeta

__all__ = ["Envelope", "Event", "Identity", "OnlyIdentity", "OnlyMetadata", "metadata_of"]

T = TypeVar("T")


class Event(msgspec.Struct, Generic[T]):
    """A watch event."""

    type: str
    object: T


class Envelope(msgspec.Struct):
    """A watch event with an object that is not decoded yet."""

    type: str
    object: msgspec.Raw


class OnlyMetadata(msgspec.Struct):
    """An object with readable metadata and an unreadable rest."""

    metadata: ObjectMeta


class Identity(msgspec.Struct, rename="camel"):
    """meta/v1 ObjectMeta, in part: the identity of an object and the version of its state."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class OnlyIdentity(msgspec.Struct):
    """An object with unreadable metadata, except its identity."""

    metadata: Identity


def metadata_of(raw: msgspec.Raw) -> ObjectMeta:
    """The readable part of the metadata. Raises msgspec.ValidationError if even the identity is unreadable."""
    try:
        return msgspec.json.decode(raw, type=OnlyMetadata).metadata
    except msgspec.ValidationError:
        found = msgspec.json.decode(raw, type=OnlyIdentity).metadata
        return ObjectMeta(found.name, found.namespace, found.uid, found.resource_version)
