"""Requests with the verdicts of Kueue's schemas and webhook code, through an API server with our CRDs and webhooks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from hack.controlplane.plane import ControlPlane
from tests.e2e.webhook_requests import Sender
from tests.kit.often import ALL
from tests.kit.webhooks.cases import DEPARTURES, cases

NOT_ASKED: Final = {
    "workload-5137": "only unhealthyNodes change, which nobody checks: the webhook is not asked",
}
"""Cases that depart from Kueue's verdicts only here, and why."""
TURN: Final = datetime.now(tz=UTC).toordinal() % 3
"""Each day another third of the cases, where not all of them run."""


def test_verdicts_are_kueues(webhook_plane: ControlPlane, say: Callable[[str], None]) -> None:
    sender = Sender(webhook_plane)
    verdicts, fields, types, compared = {}, {}, {}, 0
    chosen = cases() if ALL else [each for number, each in enumerate(cases()) if number % 3 == TURN]
    for case in chosen:
        answer, expected = sender.send(case), case.expect
        if answer.allowed != expected.allowed:
            verdicts[case.id] = answer.text
        elif expected.fields():
            compared += 1
            if answer.fields() != expected.fields():
                fields[case.id] = (answer.fields(), expected.fields())
            elif answer.causes != expected.causes:
                types[case.id] = (answer.causes, expected.causes)
    refused = sum(not case.expect.allowed for case in chosen)
    say(
        f"{len(chosen) - len(verdicts)} of {len(chosen)} verdicts are Kueue's; of {refused} refusals Kueue"
        f" names the fields in {compared}, and ours are the same in {compared - len(fields)},"
        f" with the same types in {compared - len(fields) - len(types)}"
    )
    depart = DEPARTURES.keys() | NOT_ASKED.keys()
    assert verdicts.keys() == depart & {case.id for case in chosen}, verdicts
    assert fields == {}
    assert types == {}
