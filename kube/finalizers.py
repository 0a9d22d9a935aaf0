"""Adds a finalizer to an object, and removes it.

Both are JSON patches that test the UID and the finalizers that are known. So a change of anything else in the object,
such as its status, is not in the way, and another object of the same name is left alone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from api.meta import ObjectMeta
from kube.client import JSON_PATCH
from kube.errors import ApiError
from kube.sender import Sender

__all__ = ["add_finalizer", "has_finalizer", "remove_finalizer"]


def has_finalizer(meta: ObjectMeta, finalizer: str) -> bool:
    """Whether the object has the finalizer in this state."""
    return finalizer in (meta.finalizers or ())


async def add_finalizer(sender: Sender, path: str, meta: ObjectMeta, finalizer: str) -> bool:
    """Add the finalizer to the object at the URL path. Returns False if there is no such object.

    Raises ApiError, 422 if the finalizers are no longer those of `meta`, or if it is another object.
    """
    known = meta.finalizers or None
    add = (
        {"op": "add", "path": "/metadata/finalizers", "value": [finalizer]}
        if known is None
        else {"op": "add", "path": "/metadata/finalizers/-", "value": finalizer}
    )
    test = {"op": "test", "path": "/metadata/finalizers", "value": known}
    return await _patch(sender, "finalizer", path, meta, [test, add])


async def remove_finalizer(sender: Sender, path: str, meta: ObjectMeta, finalizer: str) -> bool:
    """Remove the finalizer, which `meta` shows. Returns False if there is no such object. Raises as
    `add_finalizer`."""
    place = f"/metadata/finalizers/{(meta.finalizers or []).index(finalizer)}"
    operations = [{"op": "test", "path": place, "value": finalizer}, {"op": "remove", "path": place}]
    return await _patch(sender, "finalizer removal", path, meta, operations)


async def _patch(sender: Sender, what: str, path: str, meta: ObjectMeta, operations: list[Any]) -> bool:
    body = msgspec.json.encode([{"op": "test", "path": "/metadata/uid", "value": meta.uid}, *operations])
    try:
        await sender.send(what, "PATCH", path, body=body, content_type=JSON_PATCH)
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True
