"""Requests that Kueue's schema lets pass, with the verdicts of Kueue's webhook: ours are the same, field by field."""

from __future__ import annotations

import copy
from typing import Any, Final

import pytest

from api.crds import schema_of
from api.crds.kinds import KINDS
from tests.conformance.webhook_cases import Case, cases
from webhooks.rules import Object, Request, default, validate

WITH_STATUS: Final = frozenset({"AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "Workload"})
"""Kinds whose status has an endpoint of its own."""

DEPARTURES: Final = {
    "workload-3251": "KEP-8303: the name of a gate is a qualified name",
    "workload-4959": "KEP-8303: the name of a gate is a qualified name",
    "clusterqueue-1412": "what is stored and cannot be read may be repaired; Kueue's decoder fails on the old object",
}
"""Cases in which we allow what Kueue refuses, or refuse what it allows, and why."""
UNREADABLE: Final = [("", "DecodeError")]
"""Kueue's decoder refuses the object as a whole."""
PASSED: Final = [case for case in cases() if case.expect.stage != "schema"]


def test_kinds_with_a_status_endpoint_are_those_of_the_definitions() -> None:
    assert {kind.name for kind in KINDS if kind.has_status} >= WITH_STATUS


def test_verdicts_are_those_of_kueues_webhook(capsys: pytest.CaptureFixture[str]) -> None:
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
    with capsys.disabled():
        print(
            f" {len(PASSED) - len(verdicts)} of {len(PASSED)} verdicts are Kueue's, with its causes except in "
            f"{len(named)} that name a field where Kueue names none ",
            end="",
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
    new, old = copy.deepcopy(case.object), case.old_object
    if case.subresource == "status":
        new = _with_status(copy.deepcopy(old or {}), new)
    elif case.kind in WITH_STATUS:
        new = _with_status(new, copy.deepcopy(old or {}))
    _complete(schema_of(case.kind), new)
    return Request(kind=case.kind, operation=case.operation, subresource=case.subresource, new=new, old=old)


def _with_status(whole: Object, other: Object) -> Object:
    whole.pop("status", None)
    return whole | ({"status": other["status"]} if other.get("status") is not None else {})


def _complete(schema: dict[str, Any], value: Any) -> None:
    """Put the schema's defaults in, also in the place of null."""
    if isinstance(value, list):
        for item in value:
            _complete(schema.get("items", {}), item)
    if not isinstance(value, dict):
        return
    fields, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name, field in fields.items():
        if value.get(name) is None and "default" in field:
            value[name] = copy.deepcopy(field["default"])
    for name in list(value):
        if value[name] is None:
            del value[name]
        else:
            _complete(fields.get(name, others if isinstance(others, dict) else {}), value[name])
