"""`reprieve validate --jsonl` on requests with the verdicts of Kueue's schemas and webhooks: ours are the same."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from cli.common.lines import answer_each
from cli.validate.stream import judge_line
from cli.validate.verdicts import Context
from tests.kit.webhooks.cases import DEPARTURES, UNREADABLE, Case, Cause, cases

TWICE: Final = {"localqueue-2213"}
"""An API server says what is wrong with labels three times, we once."""


class Line(msgspec.Struct):
    """A verdict."""

    id: str
    allowed: bool
    causes: list[Cause]
    warnings: list[str]


def test_verdicts_are_kueues(say: Callable[[str], None]) -> None:
    answers = _answers()
    verdicts, fields, causes, unreadable = set(), set(), set(), 0
    for case, answer in zip(cases(), answers, strict=True):
        assert answer.id == case.id
        assert answer.allowed is (not answer.causes)
        expected = _pairs(case.expect.causes)
        unreadable += expected == UNREADABLE
        if answer.allowed != case.expect.allowed:
            verdicts.add(case.id)
        elif expected != UNREADABLE and _pairs(answer.causes) != expected:
            causes.add(case.id)
            if {cause.field for cause in answer.causes} != {cause.field for cause in case.expect.causes}:
                fields.add(case.id)
    say(
        f"{len(answers) - len(verdicts)} of {len(answers)} verdicts are Kueue's; of the refusals"
        f" {len(causes)} have other causes, {len(fields)} name other fields,"
        f" {unreadable} name fields where Kueue names none"
    )
    assert verdicts == set(DEPARTURES)
    assert causes == TWICE
    assert fields == set()


def _answers() -> list[Line]:
    out = io.BytesIO()
    assert answer_each(map(_line, cases()), out, partial(judge_line, context=Context()))
    return [msgspec.json.decode(line, type=Line) for line in out.getvalue().splitlines()]


def _line(case: Case) -> bytes:
    return json.dumps(
        {
            "id": case.id,
            "kind": case.kind,
            "operation": case.operation,
            "subresource": case.subresource,
            "object": case.object,
            "oldObject": case.old_object,
        }
    ).encode()


def _pairs(causes: list[Cause]) -> list[tuple[str, str]]:
    return sorted((cause.field, cause.type) for cause in causes)
