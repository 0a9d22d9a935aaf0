"""Reviews that are right, to begin with, and the reviewer that answers them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from tests.conformance.webhook_cases import cases
from tests.property.test_webhook_rules import SOUND
from tests.unit.webhooks.rules.objects import CLASSES, NOW
from webhooks.registrations import REGISTRATIONS, Registration
from webhooks.review import MUTATE, VALIDATE, Purpose, Reviewer
from webhooks.settings import Settings

__all__ = ["ENDPOINTS", "NOW", "PATHS", "SEEDS", "answer_of", "review", "reviewer", "seeds"]

ENDPOINTS: Final[dict[str, tuple[Purpose, Registration]]] = {
    f"/{purpose}/{each.kind.lower()}": (purpose, each)
    for each in REGISTRATIONS
    for purpose, rules in ((VALIDATE, each.validating), (MUTATE, each.mutating))
    if rules
}
PATHS: Final = tuple(ENDPOINTS)
REGISTERED: Final = {each.kind: each for each in REGISTRATIONS}
SEEDS: Final = 200
"""So many recorded requests, evenly from all of them."""


def reviewer(max_depth: int = 100) -> Reviewer:
    """One with a few PriorityClasses, and a gate that only one user may open."""
    settings = Settings(gate_openers={"gate": ("jane",)}, system_namespaces=("ops",))
    return Reviewer(CLASSES, settings, max_depth=max_depth, now=lambda: NOW)


def review(
    kind: str, new: Any, old: Any = None, subresource: str = "", operation: str | None = None
) -> dict[str, Any]:
    """What an API server sends about an object."""
    registration = REGISTERED[kind]
    request = {
        "uid": "0df28fbd-5f5f-11e8-bc74-36e6bb280816",
        "kind": {"group": registration.group, "version": registration.version, "kind": kind},
        "resource": {
            "group": registration.group,
            "version": registration.version,
            "resource": registration.plural,
        },
        "name": "some",
        "operation": operation or ("CREATE" if old is None else "UPDATE"),
        "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
        "object": new,
        "oldObject": old,
        "dryRun": False,
        "options": None,
        **({"subResource": subresource} if subresource else {}),
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


@cache
def seeds() -> tuple[tuple[str, dict[str, Any]], ...]:
    """(path, review): sound objects of every kind, created and updated, and recorded requests, good and bad."""
    return tuple(_sound()) + tuple(_recorded())


def _sound() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, (_, registration) in ENDPOINTS.items():
        for each in SOUND:
            if each["kind"] == registration.kind:
                yield path, review(registration.kind, each)
                yield path, review(registration.kind, each, each, "status")


def _recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    known = [case for case in cases() if case.kind in REGISTERED]
    for case in known[:: max(1, len(known) // SEEDS)]:
        for path, (_, registration) in ENDPOINTS.items():
            if registration.kind == case.kind:
                yield path, review(case.kind, case.object, case.old_object, case.subresource)


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
