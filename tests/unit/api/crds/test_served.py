"""A definition is older if it lacks a field that we write. One that has more is not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

import pytest

from api.crds import schema_of
from api.crds.served import OURS, lacking

Json = dict[str, Any]
PLANS: Final = OURS["PreemptionPlan"]


@pytest.mark.parametrize("name", OURS)
def test_our_own_definitions_lack_nothing(name: str) -> None:
    assert lacking(OURS[name], schema_of(name)) == []


def changed(change: Callable[[Json], object]) -> list[str]:
    """What the definition of plans lacks after a change."""
    schema = copy.deepcopy(schema_of(PLANS.name))
    change(schema["properties"])
    return lacking(PLANS, schema)


@pytest.mark.parametrize(
    ("change", "lacks"),
    [
        (lambda fields: fields["spec"]["properties"].pop("mode"), ["spec.mode"]),
        (lambda fields: fields.pop("status"), ["status"]),
        (
            lambda fields: fields["spec"]["properties"]["victims"]["items"]["properties"].pop("kind"),
            ["spec.victims[].kind"],
        ),
        (lambda fields: fields["spec"]["properties"].update(newer={"type": "string"}), []),
    ],
    ids=["a field", "a section", "a field of the items of a list", "a field more"],
)
def test_fields_that_are_lacking_are_named(change: Callable[[Json], object], lacks: list[str]) -> None:
    assert changed(change) == lacks


def test_without_a_schema_all_is_lacking() -> None:
    assert {"spec", "status"} <= {*lacking(PLANS, {})}
