"""A view of one resource of a cluster. It passes the objects to stores.

It decides once for all stores which state of an object is the newest. Its rules:

- A state from a watch counts if it is newer than the held state (`runtime.mirror.versions`).
- A state in a list counts even if it looks older, because etcd may have been restored from a backup.
- A deleted object stays deleted, even if an older state of it comes later.
- The answer to one of our own writes (`View.apply`) counts until the watch has passed it.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

import msgspec
import structlog

from api.clock import Clock
from api.meta import ObjectMeta
from kube.client import ApiClient
from kube.errors import ApiError
from kube.reflector import HasMetadata, Key, Reflector, Resource, Timing
from runtime.metrics import MIRROR_OBJECTS, MIRROR_REFUSED, MIRROR_UNREADABLE, WATCH_AGE
from runtime.mirror.versions import Version, number_of

__all__ = ["Hook", "ObjectHook", "Store", "View"]

log = structlog.get_logger(__name__)

REFUSALS: Final = 4
"""The number of refusals in a row that empties an optional resource. An API server refuses everybody when it has just
started."""
REMEMBERED: Final = 10_000
"""How many deleted objects a view remembers. It forgets the oldest first."""

T = TypeVar("T", bound=HasMetadata)
T_contra = TypeVar("T_contra", bound=HasMetadata, contravariant=True)

Hook = Callable[[], None]
RawHook = Callable[[ObjectMeta, bytes], None]
"""The view calls it with the metadata of an object that cannot be read, and with its JSON."""
ObjectHook = Callable[[str, T | None], None]
"""The view calls it with an object's UID and its newest state. None if the object is gone or no longer selected."""


class Store(Protocol[T_contra]):
    """Keeps the objects of a resource. A view calls it on the event loop, and never with an older state.

    Both methods return whether the view calls its `on_change` hooks. They must not wait. They must not raise anything
    but the ValueError of `upsert`.
    """

    def upsert(self, item: T_contra) -> bool:
        """The object exists in this state. Raises ValueError, and changes nothing, if the state is unreadable."""

    def delete(self, namespace: str, name: str) -> bool:
        """The object is gone. If all its states were unreadable, the store never had it."""


class View(Generic[T]):
    """One resource of one cluster. It is the handler of a reflector."""

    def __init__(
        self,
        client: ApiClient,
        resource: Resource[T],
        clock: Clock,
        timing: Timing,
        announce: Callable[[list[Hook]], None],
    ) -> None:
        """Only `Views.watch` makes views."""
        self._resource, self._announce, self._cluster = resource, announce, client.cluster
        self._reflector = Reflector(client, resource, self, timing=timing, clock=clock)
        self._listed, self._is_listing = asyncio.Event(), False
        self._stores: list[Store[T]] = []
        self._hooks: list[Hook] = []
        self._object_hooks: list[ObjectHook[T]] = []
        self._raw_hooks: list[RawHook] = []
        self._held: dict[Key, Version] = {}
        self._unreadable: set[Key] = set()
        self._gone: OrderedDict[str, int] = OrderedDict()
        """Number by UID of a deleted object. A state up to this number cannot bring the object back."""
        self._ahead: dict[Key, int] = {}
        """Numbers of our own writes that the watch has not shown yet."""
        self._labels = labels = client.cluster, resource.kind
        MIRROR_OBJECTS.labels(*labels).set_function(lambda: len(self._held))
        MIRROR_UNREADABLE.labels(*labels).set_function(lambda: len(self._unreadable))
        WATCH_AGE.labels(*labels).set_function(lambda: math.nan if self.is_refused else self.age())
        self._refused = MIRROR_REFUSED.labels(*labels)

    def __len__(self) -> int:
        """The number of objects that exist."""
        return len(self._held)

    @property
    def kind(self) -> str:
        """The kind of the resource, for logs and metrics."""
        return self._resource.kind

    # ---- for consumers

    def on_change(self, hook: Hook) -> None:
        """Call `hook` after changes that a store reports. One call covers many changes, also of several views."""
        self._hooks.append(hook)

    def on_object(self, hook: ObjectHook[T]) -> None:
        """Call `hook` after every newer state of every object, after the stores have that state."""
        self._object_hooks.append(hook)

    def on_unreadable(self, hook: RawHook) -> None:
        """Call `hook` after every newer state that cannot be read. The stores have the last readable one, if any."""
        self._raw_hooks.append(hook)

    @property
    def unread(self) -> AbstractSet[Key]:
        """The objects whose newest state cannot be read. This is the live set."""
        return self._unreadable

    @property
    def synced(self) -> bool:
        """Whether all objects have been listed once, or the resource is optional and was refused."""
        return self._listed.is_set()

    async def wait_synced(self) -> None:
        """Wait until all objects have been listed."""
        await self._listed.wait()

    @property
    def is_listing(self) -> bool:
        """Whether the state that stores get now is from a list: states before it may be missing, and the order of
        objects is not that of their writes."""
        return self._is_listing

    @property
    def refusal(self) -> ApiError | None:
        """Why the API server refuses: it does not serve the resource, or forbids it. None if it does not refuse."""
        return self._reflector.refusal

    @property
    def is_absent(self) -> bool:
        """Whether the API server does not serve the resource, because its CRD is not installed."""
        refusal = self._reflector.refusal
        return refusal is not None and refusal.status == 404

    @property
    def is_refused(self) -> bool:
        """Whether it is optional, and not served or forbidden."""
        return self._resource.optional and self._reflector.refusal is not None

    def may_have_come(self, since: float) -> bool:
        """Whether an object that the view lacks may exist. It was created before `since`, in monotonic seconds.

        A watch may be behind. If the resource was not served when it was last asked for, it is asked for again soon.
        """
        if not self.is_refused:
            return self.synced
        if not self.is_absent or self._reflector.refusals.since >= since:
            return False
        self._reflector.refusals.ask()
        return True

    def age(self) -> float:
        """Seconds since the API server last sent something. On a quiet cluster this grows to a minute (bookmarks)."""
        return self._reflector.last_event_age()

    def interrupted(self) -> float:
        """For how many seconds there has been no watch. 0 while there is one."""
        return self._reflector.interrupted()

    def watch_anew(self) -> None:
        """Give the stream up, and watch again: its connection may be lost without a sign."""
        self._reflector.watch_anew()

    def fault(self, max_age: float = math.inf) -> str | None:
        """Why the view is not trustworthy, or None if it is. `max_age` is the maximum of `age`, in seconds."""
        age, refusal = self.age(), self._reflector.refusal
        if self.synced and (age <= max_age or self.is_refused):
            return None
        if self.is_absent:
            return f"{self.kind}: the API server does not serve them (is the CRD installed?)"
        problem = f"no word from the API server for {age:.0f} s" if self.synced else "not listed yet"
        return f"{self.kind}: {problem}{f' ({refusal})' if refusal is not None else ''}"

    # ---- how new the view is (see `runtime.mirror.freshness`)

    @property
    def resource(self) -> Resource[T]:
        """What the view follows."""
        return self._resource

    @property
    def path(self) -> str:
        """Where the API server serves it, as of the last list: see `Resource.older`."""
        return self._reflector.path

    @property
    def listed_from(self) -> float:
        """When the last complete list began, in monotonic seconds. The view is at least as new."""
        return self._reflector.listed_from

    def has_passed(self, number: int) -> bool:
        """Whether everything up to this resource version has been seen."""
        return 0 <= number <= number_of(self._reflector.resource_version)

    def is_as_new(self, key: Key, version: Version) -> bool:
        """Whether the view has this state of the object or a newer one, or knows that the object is gone."""
        held = self._held.get(key)
        if held is not None and held.uid == version.uid and min(held.number, version.number) < 0:
            return True  # one of the two cannot be compared
        return self._is_old(key, version)

    def held_at(self, number: int) -> set[Key]:
        """The objects whose held state is from this resource version or an older one."""
        return {key for key, held in self._held.items() if 0 <= held.number <= number}

    def apply(self, item: T) -> bool:
        """Take the answer to one of our own writes before the watch shows it. Returns whether it is newer."""
        version, key = Version.of(item.metadata), _key(item.metadata)
        seen = number_of(self._reflector.resource_version)
        if 0 <= version.number <= seen or self._is_old(key, version):
            return False
        self._ahead[key] = version.number
        self._take(key, version, item)
        return True

    # ---- for the reflector (see `kube.reflector.Handler`)

    def upsert(self, item: T, *, listed: bool) -> None:
        """See `Handler`."""
        version, key = Version.of(item.metadata), _key(item.metadata)
        if self._counts(key, version, listed=listed):
            self._is_listing = listed
            self._take(key, version, item)
            self._is_listing = False

    def unreadable(self, meta: ObjectMeta, error: Exception, *, listed: bool, raw: bytes = b"") -> None:
        """See `Handler`."""
        version, key = Version.of(meta), _key(meta)
        if not self._counts(key, version, listed=listed):
            return
        held = self._held.get(key)
        if held is not None and meta.uid and held.uid != meta.uid:
            self._remove(key, held, version.number)  # another object has this name now
        self._note(key, version)
        self._refuse(key, meta, error, raw)

    def delete(self, meta: ObjectMeta) -> None:
        """See `Handler`."""
        key, number = _key(meta), number_of(meta.resource_version)
        held = self._held.get(key)
        if held is None or (meta.uid and held.uid not in ("", meta.uid)):
            self._remember(meta.uid, number)
        elif not 0 <= number < held.number:
            self._remove(key, held, number)

    def replaced(self, keys: AbstractSet[Key], resource_version: str) -> None:
        """See `Handler`."""
        listed = number_of(resource_version)
        for key in self._held.keys() - keys:
            if self._ahead.get(key, -1) <= listed:  # otherwise we wrote it while the list was on its way
                self._remove(key, self._held[key], listed)
        self._ahead.clear()
        self._listed.set()

    def refused(self, times: int) -> None:
        """See `Handler`."""
        if not self._resource.optional:
            return
        if times >= REFUSALS and self._held:
            self.replaced(frozenset(), "")
        self._listed.set()

    async def run(self) -> None:
        """Follow the API server until cancelled."""
        await self._reflector.run()

    def add(self, store: Store[T]) -> None:
        """Pass the objects to this store too."""
        self._stores.append(store)

    def close(self) -> None:
        """Take its gauges away: they hold the view, and it follows nothing any longer."""
        for gauge in (MIRROR_OBJECTS, MIRROR_UNREADABLE, WATCH_AGE):
            with suppress(KeyError):
                gauge.remove(*self._labels)

    # ---- what is held

    def _counts(self, key: Key, version: Version, *, listed: bool) -> bool:
        """Whether a state from a list or watch counts."""
        ahead = self._ahead.get(key)
        if ahead is not None and 0 <= version.number < ahead:
            return False
        self._ahead.pop(key, None)
        return listed or not self._is_old(key, version)

    def _is_old(self, key: Key, version: Version) -> bool:
        held = self._held.get(key)
        if held is not None and version.is_stale(held):
            return True
        return 0 <= version.number <= self._gone.get(version.uid, -1)

    def _take(self, key: Key, version: Version, item: T) -> None:
        held = self._held.get(key)
        former = held.uid if held is not None and held.uid != version.uid else None
        if self._resource.left(item):
            if held is not None:
                self._remove(key, held, version.number)
            self._remember(version.uid, version.number)
            return
        changed, read = False, True
        for store in self._stores:
            try:
                changed |= store.upsert(item)
            except ValueError as error:
                read = False
                if former is not None:
                    changed |= store.delete(*key)  # the store has the state of a former object
                self._refuse(key, item.metadata, error, msgspec.json.encode(item))
        if read:
            self._unreadable.discard(key)
        self._note(key, version)
        if former is not None:
            self._tell(former, None)
        if read:
            self._tell(version.uid, item)
        if changed:
            self._announce(self._hooks)

    def _note(self, key: Key, version: Version) -> None:
        """Hold the version. A held version of this object changes in place, so that its strings stay shared."""
        held = self._held.get(key)
        if held is not None and held.uid == version.uid:
            held.number = version.number
        else:
            self._held[key] = version
            self._gone.pop(version.uid, None)

    def _remove(self, key: Key, held: Version, number: int) -> None:
        del self._held[key]
        self._ahead.pop(key, None)
        self._unreadable.discard(key)
        self._remember(held.uid, max(held.number, number))
        changed = [store.delete(*key) for store in self._stores]
        self._tell(held.uid, None)
        if any(changed):
            self._announce(self._hooks)

    def _remember(self, uid: str, number: int) -> None:
        """Remember that the object is gone."""
        if uid:
            self._gone[uid] = max(number, self._gone.get(uid, -1))
            self._gone.move_to_end(uid)
            if len(self._gone) > REMEMBERED:
                self._gone.popitem(last=False)

    def _refuse(self, key: Key, meta: ObjectMeta, error: Exception, raw: bytes) -> None:
        """Count and log the unreadable object, so that somebody can repair it. Its last readable state stays."""
        self._unreadable.add(key)
        self._refused.inc()
        log.error(
            "an object cannot be read, its last state is kept",
            cluster=self._cluster,
            kind=self.kind,
            namespace=meta.namespace,
            name=meta.name,
            error=str(error),
        )
        for hook in self._raw_hooks:
            hook(meta, raw)

    def _tell(self, uid: str, item: T | None) -> None:
        for hook in self._object_hooks:
            hook(uid, item)


def _key(meta: ObjectMeta) -> Key:
    return sys.intern(meta.namespace), meta.name
