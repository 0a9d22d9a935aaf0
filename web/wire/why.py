"""Why an object waits: what `reprieve why -o json` prints."""

from __future__ import annotations

from typing import Any

from web.wire.base import Wire

__all__ = ["Answer", "Place", "PodCount"]


class Place(Wire):
    """A domain or a flavor, and why it does not take what waits."""

    name: str
    outcome: str
    reason: str


class PodCount(Wire):
    """How many pods of a pod set get quota."""

    name: str
    count: int
    asked_count: int


class Answer(Wire):
    """Why an object waits: what `reprieve why -o json` prints."""

    kind: str
    name: str
    waits: bool
    state: str
    sentence: str
    source: str
    since: str
    numbers: dict[str, int | str]
    missing: list[str]
    places: list[Place]
    waits_for: list[str]
    would_help: list[str]
    stays: list[str]
    notes: list[str]
    tried_again: str
    pod_sets: list[PodCount]
    not_modelled: list[str]
    plan: str
    decision: dict[str, Any] | None
    depends: list[Answer]
