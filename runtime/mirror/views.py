"""Views of one cluster: a view follows one resource, and all consumers of the resource share it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from api.clock import SYSTEM_CLOCK, Clock
from api.published import NAMESPACE
from kube.client import ApiClient
from kube.reflector import HasMetadata, Resource, Timing
from runtime.failpoints import delay
from runtime.mirror.view import Hook, ObjectHook, Store, View

__all__ = ["ObjectHook", "Store", "View", "Views"]

T = TypeVar("T", bound=HasMetadata)


class Views:
    """All views of one cluster. Consumers of the same resource share a view. Everything runs on the event loop."""

    def __init__(
        self,
        client: ApiClient,
        *,
        clock: Clock = SYSTEM_CLOCK,
        timing: Timing | None = None,
        home: str = NAMESPACE,
        optional: bool = False,
    ) -> None:
        """`home`: the namespace that this process runs in. `optional`: nobody waits for any of the resources, and each
        may come later: the process has an answer without it."""
        self._client, self.clock, self.home, self._optional = client, clock, home, optional
        self._timing = timing or Timing(delay=partial(delay, "mirror.delay"))
        self._views: dict[Resource[Any], View[Any]] = {}
        self._pending: dict[Hook, None] = {}
        self._is_running = False

    def watch(self, resource: Resource[T], store: Store[T]) -> View[T]:
        """Pass all objects of the resource to `store`.

        Raises RuntimeError after `run` has begun, because the store would miss the list.
        """
        if self._is_running:
            raise RuntimeError(f"{resource.kind}: call watch before run")
        if self._optional:
            resource = replace(resource, optional=True)
        view = self._views.get(resource)
        if view is None:
            view = View(self._client, resource, self.clock, self._timing, self._changed)
            self._views[resource] = view
        view.add(store)
        return view

    def __iter__(self) -> Iterator[View[Any]]:
        return iter(self._views.values())

    async def run(self) -> None:
        """Follow the API server until cancelled. A resource that is not served is listed again and again."""
        self._is_running = True
        async with asyncio.TaskGroup() as tasks:
            for view in self:
                tasks.create_task(view.run(), name=f"view of {view.kind}")
            await asyncio.Event().wait()

    def close(self) -> None:
        """End them: call this once `run` has been cancelled. Metrics of the cluster's kinds are gone then, and what
        has changed is no longer told."""
        self._pending.clear()
        for view in self:
            view.close()

    def _changed(self, hooks: list[Hook]) -> None:
        if hooks and not self._pending:
            asyncio.get_running_loop().call_soon(self._call_pending)
        self._pending.update(dict.fromkeys(hooks))

    def _call_pending(self) -> None:
        pending, self._pending = self._pending, {}
        for hook in pending:
            hook()
