"""Makes views at least as new as the API server is now.

Whoever begins to act must know what others wrote before. A watch tells that only when something happens: bookmarks come
about once a minute. So the API server is asked for a list of names, UIDs and resource versions, which it answers from
the newest state (a quorum read), and the watch is waited for until the views have all of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.meta import ListMeta
from kube.client import METADATA_LIST, ApiClient
from kube.envelopes import Identity, OnlyIdentity
from kube.errors import ApiError
from kube.reflector import Key
from kube.retry import Retry
from runtime.metrics import CATCH_UP_SECONDS
from runtime.mirror.versions import UNKNOWN, Version, number_of
from runtime.mirror.views import View

__all__ = ["catch_up"]

log = structlog.get_logger(__name__)

PAGE: Final = 1000
"""Objects in one answer. Their metadata is about half of a pod's bytes, most of it managedFields."""
LIST_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.05
"""Between two looks at what the watch has brought."""
BACKOFF: Final = Backoff(0.2, 5.0)
PATIENCE_SECONDS: Final = 10.0
"""How long without success until the list is made anew."""


class MetadataList(msgspec.Struct):
    """meta/v1 PartialObjectMetadataList, in part. An empty one has no items."""

    metadata: ListMeta
    items: list[OnlyIdentity] | None = None


_decoder: Final = msgspec.json.Decoder(MetadataList)


@dataclass(frozen=True, slots=True)
class _Behind:
    """What a view does not show yet."""

    number: int
    """The resource version of the list."""
    states: dict[Key, Version]
    """Objects that exist at least in this state."""
    gone: set[Key]
    """Objects that were gone in the list."""


async def catch_up(client: ApiClient, views: Collection[View[Any]], since: float, clock: Clock) -> None:
    """Wait until the views are as new as the API server is now. Faults of the API server are outlasted.

    A view that was listed after `since` (monotonic seconds) is new enough, and one that is refused has nothing.
    """
    began = clock.monotonic()
    old = [view for view in views if view.listed_from < since]
    await asyncio.gather(*(_catch_up(client, view, clock) for view in old))
    seconds = clock.monotonic() - began
    CATCH_UP_SECONDS.labels(client.cluster).observe(seconds)
    log.info("the views are as new as the API server", kinds=len(old), seconds=round(seconds, 2))


async def _catch_up(client: ApiClient, view: View[Any], clock: Clock) -> None:
    retry = Retry(BACKOFF)
    while not view.is_refused:
        try:
            behind = await _compare(client, view)
        except ApiError as error:
            wait = retry.failed(error)
            log.warning(
                "the newest state is not known", kind=view.kind, error=str(error), wait=round(wait, 2)
            )
            await asyncio.sleep(wait)
            continue
        if behind is None or await _wait(view, behind, clock):
            return


async def _compare(client: ApiClient, view: View[Any]) -> _Behind | None:
    """What the view does not show of a new list; None if it shows everything. Raises ApiError."""
    listed, states, token, number = set[Key](), dict[Key, Version](), "", UNKNOWN
    while True:
        page = await _page(client, view, token)
        number, token = number_of(page.metadata.resource_version), page.metadata.continue_
        if view.has_passed(number):
            return None  # the watch was quicker, as it is where much happens
        for item in page.items or ():
            key, version = _identity(item.metadata)
            listed.add(key)
            if not view.is_as_new(key, version):
                states[key] = version
        if not token:
            break
    behind = _Behind(number, states, view.held_at(number) - listed)
    return behind if _is_behind(view, behind) else None


async def _wait(view: View[Any], behind: _Behind, clock: Clock) -> bool:
    """Wait for the watch. Returns false if it has not brought everything in time."""
    end = clock.monotonic() + PATIENCE_SECONDS
    while _is_behind(view, behind):
        if clock.monotonic() > end:
            missing = sorted([*behind.states, *behind.gone])
            log.warning(
                "the watch is behind the API server", kind=view.kind, objects=len(missing), first=missing[0]
            )
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True


def _is_behind(view: View[Any], behind: _Behind) -> bool:
    """Whether the view still lacks something. What it shows by now is taken out."""
    if view.has_passed(behind.number):
        return False
    for key in [key for key, version in behind.states.items() if view.is_as_new(key, version)]:
        del behind.states[key]
    if behind.gone:
        behind.gone.intersection_update(view.held_at(behind.number))
    return bool(behind.states or behind.gone)


async def _page(client: ApiClient, view: View[Any], token: str) -> MetadataList:
    query = view.resource.query(**{"limit": str(PAGE), "continue": token})
    body = await client.request("GET", view.path, query=query, accept=METADATA_LIST, seconds=LIST_SECONDS)
    try:
        return _decoder.decode(body)
    except msgspec.DecodeError as error:
        raise ApiError(0, "InvalidAnswer", str(error)) from error


def _identity(meta: Identity) -> tuple[Key, Version]:
    return (meta.namespace, meta.name), Version(meta.uid, number_of(meta.resource_version))
