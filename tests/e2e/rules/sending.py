"""Sends what a rule is about to a control plane, and says what the answer blames."""

from __future__ import annotations

from typing import Final

from hack.controlplane.plane import ControlPlane
from tests.e2e.rules.table import Edits, Rule, edited
from tests.e2e.webhook_requests import Answer, Sender
from tests.kit.webhooks.cases import Case, Expected

__all__ = ["pairs", "send"]

NOISE: Final = ("<nil>", "FieldValueInvalid")
"""What API servers say of an object as a whole: mostly that they did not look at everything."""


def send(plane: ControlPlane, rule: Rule, edits: Edits, operation: str) -> Answer:
    """The answer to the base with these edits."""
    client = plane.client.impersonating(rule.user) if rule.user else None
    try:
        return Sender(plane, client).send(
            Case(
                id=rule.name,
                kind=rule.base["kind"],
                operation="CREATE" if operation == "CREATE" else "UPDATE",
                subresource="status" if rule.subresource else "",
                object=edited(rule.base, edits),
                old_object=None if operation == "CREATE" else rule.base,
                expect=Expected(allowed=True, stage=None, causes=[], messages=[]),
                tags=[],
            )
        )
    finally:
        if client is not None:
            client.close()


def pairs(answer: Answer) -> set[tuple[str, str]]:
    """Field and type of what is wrong."""
    found = {(cause.field, cause.type) for cause in answer.causes}
    return found - {NOISE} or found
