"""A process that starts names the definitions that are older than itself, and goes on without an answer."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import pytest
from structlog.testing import capture_logs

from api.crds import schema_of
from api.crds.served import OURS
from cli.serve.definitions import PATH, look
from kube.errors import ApiError

Json = dict[str, Any]
PREFIX: Final = "dev.reprieve.v1alpha1"


class Served:
    """An API server that answers with these schemas, by kind. None: it does not answer."""

    def __init__(self, schemas: Mapping[str, Json] | None) -> None:
        self._schemas = schemas

    async def request(self, method: str, path: str, **_: object) -> bytes:
        assert (method, path) == ("GET", PATH)
        if self._schemas is None:
            raise ApiError(503, "ServiceUnavailable", "away")
        named = {f"{PREFIX}.{name}": schema for name, schema in self._schemas.items()}
        return msgspec.json.encode({"components": {"schemas": named}})


def schemas() -> dict[str, Json]:
    """Those of this code."""
    return {name: copy.deepcopy(schema_of(name)) for name in OURS}


async def said(found: Mapping[str, Json] | None) -> list[tuple[str, str]]:
    """The kinds that are named, and the fields."""
    with capture_logs() as logs:
        await look(Served(found))
    assert all(each["log_level"] == "warning" for each in logs)
    return [(each["kind"], each["lacks"]) for each in logs]


async def test_definitions_of_this_code_are_not_mentioned() -> None:
    assert await said(schemas()) == []


async def test_an_older_definition_is_named_with_what_it_lacks() -> None:
    older = schemas()
    del older["PreemptionPlan"]["properties"]["spec"]["properties"]["mode"]
    assert await said(older) == [("PreemptionPlan", "spec.mode")]


@pytest.mark.parametrize("found", [None, {}], ids=["no answer", "no such kinds"])
async def test_without_an_answer_nothing_is_said(found: Mapping[str, Json] | None) -> None:
    assert await said(found) == []
