"""Threads that note when something happens, by a watch."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

from hack.controlplane.client import ApiError, Client, Json, Watch, path_of

__all__ = ["Bindings", "Deletions", "Plans", "Watching", "between"]


class Watching(ABC):
    """Follows one resource of a namespace while the context lasts."""

    def __init__(
        self, client: Client, api_version: str, kind: str, namespace: str, *, labels: str = ""
    ) -> None:
        self._client, self._resource, self._labels = client, (api_version, kind, namespace), labels
        self.changed = threading.Condition()
        """What was noted is read under it. It is notified of each event."""
        self._version = self._list()
        self._closed = threading.Event()
        self._watch = self._watch_on()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._watch.close()
        self._thread.join()

    def _list(self) -> int:
        """Note what exists. Returns the resourceVersion of the list."""
        query = urlencode({"labelSelector": self._labels})
        body = self._client.request("GET", f"{path_of(*self._resource)}?{query}")
        now = time.monotonic()
        for item in body["items"]:
            self.note("ADDED", item, now)
        return int(body["metadata"]["resourceVersion"])

    def _watch_on(self) -> Watch:
        return self._client.watch(*self._resource, labels=self._labels, since=self._version)

    def _follow(self) -> None:
        """Note each event. The API server ends the watch of a client that reads too slowly: it goes on where it was."""
        while not self._closed.is_set():
            for event in self._watch:
                now, item = time.monotonic(), event["object"]
                if event["type"] == "ERROR":
                    raise ApiError(item.get("code", 0), json.dumps(item))
                self._version = int(item["metadata"]["resourceVersion"])
                with self.changed:
                    self.note(event["type"], item, now)
                    self.changed.notify_all()
            if not self._closed.is_set():
                self._watch = self._watch_on()
            if self._closed.is_set():  # meanwhile
                self._watch.close()

    @abstractmethod
    def note(self, event: str, item: Json, now: float) -> None:
        """Something has happened to an object."""


class Bindings(Watching):
    """When each pod of a namespace with these labels was first seen with a node."""

    def __init__(self, client: Client, namespace: str, labels: str) -> None:
        self.bound: dict[str, float] = {}
        """In monotonic seconds, by name."""
        self._new: list[str] = []
        super().__init__(client, "v1", "Pod", namespace, labels=labels)

    def note(self, event: str, item: Json, now: float) -> None:
        """See `Watching`."""
        name = item["metadata"]["name"]
        if item["spec"].get("nodeName") and name not in self.bound:
            self.bound[name] = now
            self._new.append(name)

    def take_new(self) -> list[str]:
        """Pods that were bound since the last call."""
        with self.changed:
            new, self._new = self._new, []
            return new

    def wait(self, names: Iterable[str], seconds: float) -> None:
        """Wait until all these pods were bound. Raises TimeoutError."""
        wanted = set(names)
        with self.changed:
            if not self.changed.wait_for(lambda: wanted <= self.bound.keys(), seconds):
                raise TimeoutError(f"not bound: {sorted(wanted - self.bound.keys())[:5]}")


class Plans(Watching):
    """When the first plan for each PodGroup was seen."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._seen: dict[str, float] = {}
        super().__init__(client, "reprieve.dev/v1alpha1", "PreemptionPlan", namespace)

    def note(self, event: str, item: Json, now: float) -> None:
        """See `Watching`."""
        self._seen.setdefault(item["spec"]["preemptor"]["name"], now)

    def wait(self, name: str, seconds: float) -> float:
        """When there was a plan for the group, in monotonic seconds. Raises TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: name in self._seen, seconds):
                raise TimeoutError(f"there is no plan for {name}")
            return self._seen[name]


class Deletions(Watching):
    """When the deletion of each pod of a namespace was first seen."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._deleted: dict[str, float] = {}
        super().__init__(client, "v1", "Pod", namespace)

    def note(self, event: str, item: Json, now: float) -> None:
        """See `Watching`."""
        if event == "DELETED" or item["metadata"].get("deletionTimestamp"):
            self._deleted.setdefault(item["metadata"]["name"], now)

    def wait(self, names: Collection[str], seconds: float) -> None:
        """Wait until the deletion of all these pods was seen. Raises TimeoutError."""
        wanted = set(names)
        with self.changed:
            if not self.changed.wait_for(lambda: wanted <= self._deleted.keys(), seconds):
                raise TimeoutError(f"not deleted: {sorted(wanted - self._deleted.keys())[:5]}")

    @property
    def seconds(self) -> float:
        """From the first deletion to the last."""
        with self.changed:
            return between(self._deleted.values())


def between(moments: Collection[float]) -> float:
    """From the first moment to the last. 0 if there is none."""
    return max(moments) - min(moments) if moments else 0.0
