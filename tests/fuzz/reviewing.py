"""Reviews that are right, to begin with, and the reviewer that answers them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from api.times import parse_rfc3339
from tests.kit.clock import ManualClock
from tests.kit.manifests import CLASSES, NOW
from tests.kit.spoiled import SOUND
from tests.kit.webhooks.cases import cases
from tests.kit.webhooks.reviews import BY_KIND, review
from webhooks.registrations import REGISTRATIONS, Registration
from webhooks.review import MUTATE, VALIDATE, Purpose, Reviewer
from webhooks.settings import Settings

__all__ = ["ENDPOINTS", "NOW", "PATHS", "SEEDS", "answer_of", "reviewer", "seeds"]

ENDPOINTS: Final[dict[str, tuple[Purpose, Registration]]] = {
    f"/{purpose}/{each.kind.lower()}": (purpose, each)
    for each in REGISTRATIONS
    for purpose, rules in ((VALIDATE, each.validating), (MUTATE, each.mutating))
    if rules
}
PATHS: Final = tuple(ENDPOINTS)
SEEDS: Final = 200
"""The number of recorded requests, evenly from all of them."""


def reviewer(max_depth: int = 100) -> Reviewer:
    """One with a few PriorityClasses, and a gate that only one user may open."""
    settings = Settings(gate_openers={"gate": ("jane",)}, system_namespaces=("ops",))
    return Reviewer(CLASSES, settings, max_depth=max_depth, clock=ManualClock(wall=parse_rfc3339(NOW)))


@cache
def seeds() -> tuple[tuple[str, dict[str, Any]], ...]:
    """(path, review): sound objects of every kind, created and updated, and recorded requests, good and bad."""
    return tuple(_sound()) + tuple(_recorded())


def _sound() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, (_, registration) in ENDPOINTS.items():
        for each in SOUND:
            if each["kind"] == registration.kind:
                yield path, review(each, registration.kind)
                yield path, review(each, registration.kind, each, subResource="status")


def _recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    known = [case for case in cases() if case.kind in BY_KIND]
    for case in known[:: max(1, len(known) // SEEDS)]:
        changes = {"subResource": case.subresource} if case.subresource else {}
        for path, (_, registration) in ENDPOINTS.items():
            if registration.kind == case.kind:
                yield path, review(case.object, case.kind, case.old_object, **changes)


def answer_of(text: bytes) -> dict[str, Any]:
    """The response of an answer, after looking at its shape: only what an API server can read."""
    answer = json.loads(text)
    assert answer.keys() == {"apiVersion", "kind", "response"}
    response: dict[str, Any] = answer["response"]
    assert isinstance(response["uid"], str)
    assert isinstance(response["allowed"], bool)
    assert response.keys() <= {"uid", "allowed", "status", "warnings", "patch", "patchType"}
    assert ("patch" in response) == ("patchType" in response)
    assert response["allowed"] or response["status"]["code"] in (422, 503)
    assert response["allowed"] or response["status"]["message"]
    return response
