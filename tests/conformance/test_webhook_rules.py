"""Requests that Kueue's schema lets pass, with the verdicts of Kueue's webhook: ours are the same, field by field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from schema import Prepared, prepare
from tests.kit.webhooks.cases import DEPARTURES, UNREADABLE, Case, cases
from webhooks.rules import Request, default, validate

PASSED: Final = [case for case in cases() if case.expect.stage != "schema"]


def test_verdicts_are_those_of_kueues_webhook(say: Callable[[str], None]) -> None:
    verdicts, fields, named = set(), {}, set()
    for case in PASSED:
        causes = validate(_request(case)).causes
        got = sorted((cause.field, cause.type) for cause in causes)
        expected = [(cause.field, cause.type) for cause in case.expect.causes]
        if (not causes) != case.expect.allowed:
            verdicts.add(case.id)
        elif expected == UNREADABLE and all(field for field, _ in got):
            named.add(case.id)
        elif got != expected:
            fields[case.id] = (got, expected)
    say(
        f"{len(PASSED) - len(verdicts)} of {len(PASSED)} verdicts are Kueue's, with its causes except in "
        f"{len(named)} that name a field where Kueue names none"
    )
    assert verdicts == set(DEPARTURES)
    assert fields == {}
    assert (len(PASSED), len(named)) == (776, 14)


def test_nothing_is_filled_in_but_the_times_of_gates() -> None:
    for case in PASSED:
        request = _request(case)
        if request.subresource != "status":
            assert default(request) is request.new


def _request(case: Case) -> Request:
    """What an API server puts to webhooks, once the schema is done with it."""
    prepared = prepare(case.kind, case.object, case.old_object, case.subresource)
    assert isinstance(prepared, Prepared)
    return Request(
        kind=case.kind,
        operation=case.operation,
        subresource=case.subresource,
        new=prepared.new,
        old=case.old_object,
    )
