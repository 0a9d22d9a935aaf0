"""What is sent for a condition, and what is not. What API servers make of it: tests/e2e/test_conditions.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import orjson
import pytest

from api.backoff import Backoff
from api.meta import Condition, ObjectMeta
from kube.client import ApiClient
from kube.conditions import ConditionWriter, Target
from kube.errors import ApiError
from kube.sender import Sender
from tests.kit.clock import ManualClock

PATH = "/apis/example.com/v1/namespaces/n/things/a"
NOW = "2026-01-01T00:00:00Z"


def target(*conditions: Condition, version: str = "5") -> Target:
    meta = ObjectMeta("a", "n", "uid-a", version)
    return Target(PATH, "example.com/v1", "Thing", meta, conditions)


class Api:
    """Takes notes of patches; the object has this UID, or is not there."""

    cluster = ""

    def __init__(self) -> None:
        self.patches: list[tuple[str, Mapping[str, str], dict[str, Any]]] = []
        self.errors: list[ApiError] = []
        self.uid: str | None = "uid-a"
        self.conditions: list[Any] = []
        self.looks = 0

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "",
        seconds: float = 0.0,
        **_: object,
    ) -> bytes:
        if method == "GET":
            assert (path, query) == (PATH.removesuffix("/a"), {"fieldSelector": "metadata.name=a"})
            self.looks += 1
            if self.uid is None:
                return b'{"items": []}'
            meta = {"name": "a", "namespace": "n", "uid": self.uid, "resourceVersion": "9"}
            return orjson.dumps({"items": [{"metadata": meta, "status": {"conditions": self.conditions}}]})
        assert content_type == "application/apply-patch+yaml"
        self.patches.append((path, query or {}, orjson.loads(body or b"")))
        if self.errors:
            raise self.errors.pop(0)
        return b"{}"


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def writer(api: Api) -> ConditionWriter:
    sender = Sender(cast(ApiClient, api), attempts=3, backoff=Backoff(0.001, 0.001))
    return ConditionWriter(sender, clock=ManualClock())


def known(status: str, **fields: Any) -> Condition:
    return Condition("example.com/Good", status, "Looked", "so it is", **fields)


async def test_one_condition_is_applied_by_the_manager_of_its_type(api: Api, writer: ConditionWriter) -> None:
    other = Condition("Other", "True")
    await writer.write(target(other), "example.com/Good", "True", "Looked", "so it is", generation=4)
    ((path, query, body),) = api.patches
    assert path == f"{PATH}/status"
    assert query == {"fieldManager": "reprieve-example.com/Good", "force": "true"}
    assert body == {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a", "uid": "uid-a", "resourceVersion": "5"},
        "status": {
            "conditions": [
                {
                    "type": "example.com/Good",
                    "status": "True",
                    "reason": "Looked",
                    "message": "so it is",
                    "lastTransitionTime": NOW,
                    "observedGeneration": 4,
                }
            ]
        },
    }


@pytest.mark.parametrize(
    ("before", "since"),
    [
        (known("True", last_transition_time="2025-01-01T00:00:00Z"), "2025-01-01T00:00:00Z"),
        (known("False", last_transition_time="2025-01-01T00:00:00Z"), NOW),
        (known("True", last_transition_time="yesterday"), NOW),
        (known("True"), NOW),
    ],
)
async def test_a_transition_is_a_change_of_the_status(
    api: Api, writer: ConditionWriter, before: Condition, since: str
) -> None:
    await writer.write(target(before), "example.com/Good", "True", "Looked", "another text")
    (condition,) = api.patches[0][2]["status"]["conditions"]
    assert condition["lastTransitionTime"] == since
    assert "observedGeneration" not in condition


async def test_what_is_said_already_is_not_sent(api: Api, writer: ConditionWriter) -> None:
    before = known("True", last_transition_time=NOW, observed_generation=2)
    for generation in (2, 3):
        await writer.write(
            target(before), "example.com/Good", "True", "Looked", "so it is", generation=generation
        )
    ((_, _, body),) = api.patches
    assert body["status"]["conditions"][0]["observedGeneration"] == 3


async def test_numbers_are_written_with_the_condition(api: Api, writer: ConditionWriter) -> None:
    """A number alone is a change. After a conflict nobody knows them, so they are written."""
    before = Condition("Good", "True", "Looked", "", NOW)
    there = replace(target(before), numbers={"pods": 2})
    assert await writer.write(there, "Good", "True", "Looked", "", numbers={"pods": 2}) is None
    api.errors = [ApiError(409, "Conflict", "modified")]
    assert await writer.write(there, "Good", "True", "Looked", "", numbers={"pods": 3}) is not None
    for _, query, body in api.patches:
        assert query["fieldManager"] == "reprieve-Good"
        assert body["status"]["pods"] == 3
        assert body["status"]["conditions"][0]["type"] == "Good"
    assert len(api.patches) == 2


async def test_long_messages_are_cut(api: Api, writer: ConditionWriter) -> None:
    await writer.write(target(), "Good", "True", "Looked", "x" * 5000)
    (condition,) = api.patches[0][2]["status"]["conditions"]
    assert len(condition["message"]) == 1024
    before = Condition("Good", "True", "Looked", "x" * 1024, NOW)
    assert await writer.write(target(before), "Good", "True", "Looked", "x" * 5000) is None


@pytest.mark.parametrize(
    ("status", "uid"), [(404, None), (409, "another"), (409, None)], ids=["gone", "replaced", "gone since"]
)
async def test_an_object_that_has_gone_is_no_error(
    api: Api, writer: ConditionWriter, status: int, uid: str | None
) -> None:
    api.uid, api.errors = uid, [ApiError(status, "Reason", "message")]
    assert await writer.write(target(), "Good", "True", "Looked", "") is None
    assert len(api.patches) == 1


async def test_after_a_conflict_what_is_there_counts(api: Api, writer: ConditionWriter) -> None:
    """Somebody wrote the same object; among what it says is a condition that cannot be read."""
    old = {"type": "Good", "status": "True", "reason": "Old", "lastTransitionTime": "2025-01-01T00:00:00Z"}
    api.conditions, api.errors = ["odd", old], [ApiError(409, "Conflict", "modified")]
    before = Condition("Good", "False", "Old")
    assert await writer.write(target(before), "Good", "True", "Looked", "") is not None
    first, second = (body for _, _, body in api.patches)
    assert [body["metadata"]["resourceVersion"] for body in (first, second)] == ["5", "9"]
    assert first["status"]["conditions"][0]["lastTransitionTime"] == NOW
    assert second["status"]["conditions"][0]["lastTransitionTime"] == "2025-01-01T00:00:00Z"
    api.conditions = second["status"]["conditions"]
    api.errors = [ApiError(409, "Conflict", "modified")]
    assert await writer.write(target(before), "Good", "True", "Looked", "") is None  # it was ourselves


async def test_what_is_not_known_is_looked_at(api: Api, writer: ConditionWriter) -> None:
    assert await writer.write(target(version=""), "Good", "True", "Looked", "") is not None
    assert api.looks == 1
    assert api.patches[0][2]["metadata"]["resourceVersion"] == "9"


async def test_conflicts_with_other_writers_and_outages_are_tried_again(
    api: Api, writer: ConditionWriter
) -> None:
    api.errors = [ApiError(409, "Conflict", "modified"), ApiError(503, "Away", ""), ApiError(409, "", "")]
    assert await writer.write(target(), "Good", "True", "Looked", "") is not None
    assert len(api.patches) == 4
    api.errors = [ApiError(409, "Conflict", "modified") for _ in range(20)]
    with pytest.raises(ApiError, match="409"):
        await writer.write(target(), "Good", "True", "Looked", "")
    api.errors = [ApiError(403, "Forbidden", "")]
    with pytest.raises(ApiError, match="403"):
        await writer.write(target(), "Good", "True", "Looked", "")
