"""The verdicts of `reprieve validate` are those of an API server with our CRDs and our webhook, cause by cause."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from cli.validate.verdicts import Context, Write, verdict
from hack.controlplane.plane import ControlPlane
from schema import DECODE_ERROR
from schema.verdict import Verdict
from tests.e2e.webhook_requests import Answer, Sender
from tests.kit.often import ALL
from tests.kit.webhooks.cases import Case
from tests.kit.webhooks.edges import edge
from tests.kit.webhooks.mutations import mutated, seeds
from webhooks.facts import KnownFacts
from webhooks.registrations import CHECKED_STATUS

SEEDS = seeds()
REQUESTS = 600 if ALL else 200
CONTEXT = Context(facts=KnownFacts())
"""The plane has no PriorityClass but those that API servers make."""


def _changed(random: Random) -> Case:
    return mutated(random.choice(SEEDS), random)


@pytest.mark.parametrize("case_of", [_changed, edge], ids=["changes", "edges"])
def test_requests_at_random_get_the_verdict_of_a_cluster(
    webhook_plane: ControlPlane, case_of: Callable[[Random], Case]
) -> None:
    sender, skipped = Sender(webhook_plane), 0
    for number in range(REQUESTS):
        case = case_of(Random(number))
        answer, judged = sender.send(case), verdict(_write(case), CONTEXT)
        if _is_skipped(case, answer, judged):
            skipped += 1
        else:
            assert answer.allowed == judged.allowed, (case, answer.text, judged)
            if not any(cause.type == DECODE_ERROR for cause in judged.causes):
                said = {(cause.field, cause.type) for cause in answer.causes}
                assert {(cause.field, cause.type) for cause in judged.causes} == said, (case, answer.text)
    assert skipped < REQUESTS / 10


def _write(case: Case) -> Write:
    return Write(case.kind, case.object, case.old_object, case.subresource)


def _is_skipped(case: Case, answer: Answer, judged: Verdict) -> bool:
    """Webhooks are not asked if nothing that they check in a status changes: what is wrong was so before."""
    if (case.kind, case.subresource) != ("Workload", "status") or not answer.allowed or judged.allowed:
        return False
    new, old = ((whole or {}).get("status") or {} for whole in (case.object, case.old_object))
    return all(new.get(field) == old.get(field) for field in CHECKED_STATUS)
