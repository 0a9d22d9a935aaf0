"""Why an object waits: what `reprieve why -o json` prints."""

from __future__ import annotations

from typing import Literal

from api.waits import Source
from web.wire.base import Wire
from web.wire.decisions import Decision

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

    kind: Literal["Pod", "PodGroup", "Job", "Workload"]
    name: str
    """NAMESPACE/NAME."""
    waits: bool
    state: str
    sentence: str
    source: Source
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
    decision: Decision | None
    depends: list[Answer]
