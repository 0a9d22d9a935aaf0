"""What became of the copies in the workers, as a history tells it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from api.multikueue import ORIGIN_LABEL
from hack.controlplane.client import Json
from tests.kit.multicluster.history import Event, History
from tests.multicluster.trio import WORKERS

__all__ = ["copies_made", "copies_that_changed"]


def copies_made(history: History, namespace: str) -> Counter[str]:
    """How many copies were made, by cluster and name (`alpha/job-a`)."""
    return Counter(_name(each) for each in _copies(history, namespace) if each.what == "ADDED")


def copies_that_changed(history: History, namespace: str) -> list[str]:
    """Copies whose spec differed at some time from that with which they were made. Gates do not count."""
    first: dict[str, Json] = {}
    return [
        f"{_name(each)}: {_spec(each)}"
        for each in _copies(history, namespace)
        if first.setdefault(str(each.meta["uid"]), _spec(each)) != _spec(each)
    ]


def _copies(history: History, namespace: str) -> Iterator[Event]:
    """All states of the copies."""
    for each in history.of("Workload", *WORKERS):
        if each.meta["namespace"] == namespace and ORIGIN_LABEL in (each.meta.get("labels") or {}):
            yield each


def _name(event: Event) -> str:
    return f"{event.cluster}/{event.meta['name']}"


def _spec(event: Event) -> Json:
    return {key: value for key, value in event.body["spec"].items() if key != "preemptionGates"}
