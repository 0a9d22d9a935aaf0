"""Checks stored objects with the rules of admission."""

from __future__ import annotations

from typing import Final

from api.clock import SYSTEM_CLOCK, Clock
from controllers.recheck.recheck import CheckedKind, Rechecker
from kube.client import ApiClient
from schema.verdict import Verdict
from serving.ops import Check
from webhooks import rules
from webhooks.facts import Facts
from webhooks.registrations import EXCLUDED_NAMESPACES, REGISTRATIONS
from webhooks.rules import Object, Request
from webhooks.settings import Settings

__all__ = ["rechecker"]

KINDS: Final = tuple(
    CheckedKind(each.kind, each.plural, each.group, each.version, each.has_conditions)
    for each in REGISTRATIONS
    if each.required
)
"""The kinds that nobody can write without the webhook (failurePolicy Fail)."""


def rechecker(
    client: ApiClient,
    facts: Facts,
    settings: Settings,
    fault: Check,
    seconds: float,
    clock: Clock = SYSTEM_CLOCK,
) -> Rechecker:
    """The controller that checks stored objects every `seconds`. `fault` says why facts are missing; None if they are
    all here."""

    def validate(kind: CheckedKind, stored: Object) -> Verdict:
        request = Request(kind=kind.name, operation="CREATE", new=stored, facts=facts, settings=settings)
        return rules.validate(request)

    return Rechecker(
        client,
        KINDS,
        validate,
        fault,
        seconds=seconds,
        excluded_namespaces=EXCLUDED_NAMESPACES,
        clock=clock,
    )
