"""A watch of a bench sees everything, also if the API server ends it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bench.watching import Bindings

LISTED: Final = 7
"""The resourceVersion of the list."""


class _Ending:
    """The client of an API server that ends each watch after one event."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._events = events
        self.began: list[int] = []

    def request(self, _method: str, _path: str) -> dict[str, Any]:
        return {"metadata": {"resourceVersion": str(LISTED)}, "items": [_pod("a", LISTED)["object"]]}

    def watch(self, *_resource: str, labels: str, since: int) -> _Watch:
        assert labels == "load=pod"
        self.began.append(since)
        return _Watch(event for event in self._events[len(self.began) - 1 :][:1])


class _Watch:
    def __init__(self, events: Iterator[dict[str, Any]]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._events

    def close(self) -> None:
        """Nothing is open."""


def test_a_watch_that_the_api_server_ends_goes_on_where_it_was() -> None:
    client: Any = _Ending([_pod("b", 9), _pod("c", 12)])
    with Bindings(client, "default", "load=pod") as bindings:
        bindings.wait(["a", "b", "c"], 10.0)
    assert client.began[:3] == [LISTED, 9, 12]


def _pod(name: str, version: int) -> dict[str, Any]:
    meta = {"name": name, "resourceVersion": str(version)}
    return {"type": "MODIFIED", "object": {"metadata": meta, "spec": {"nodeName": "node"}}}
