"""A PodGroup whose class is not known yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from hack.controlplane.objects import pod_group
from runtime.mirror.views import Views
from serving.listeners import serving
from tests.kit.objects import priority_class
from tests.kit.views import listed
from tests.kit.webhooks.reviews import review
from tests.unit.webhooks.support import LOOPBACK, followed, learn, post
from webhooks.configuration import WebhooksConfiguration
from webhooks.late_classes import MAX_WAITING, LateClasses
from webhooks.metrics import REVIEWS
from webhooks.review import Reviewer
from webhooks.server import review_app
from webhooks.settings import Settings
from webhooks.watched import WatchedFacts

LONG = 600.0
"""A wait of this length fails the test."""


def group(name: str = "high", priority: int | None = None, **fields: Any) -> bytes:
    made = pod_group("gang", min_count=2, priorityClassName=name, priority=priority)
    return orjson.dumps(review(made, "PodGroup", **fields))


@asynccontextmanager
async def listening(facts: WatchedFacts, seconds: float) -> AsyncIterator[str]:
    configuration = WebhooksConfiguration(bind_address=LOOPBACK, port=0)
    reviewer = Reviewer(facts, Settings(), max_depth=100)
    app = review_app(reviewer, configuration, {"PodGroup": LateClasses(facts, seconds).wait})
    async with serving(app, configuration) as port:
        yield f"http://{LOOPBACK}:{port}"


def known() -> tuple[WatchedFacts, Views]:
    """Facts of a cluster that has been listed, and is empty."""
    facts, views = followed()
    return facts, listed(views)


def counted(purpose: str) -> float:
    """Reviews of PodGroups that were answered, whatever the answer."""
    samples = [sample for metric in REVIEWS.collect() for sample in metric.samples]
    asked = {"purpose": purpose, "kind": "PodGroup"}
    return sum(
        each.value
        for each in samples
        if each.name.endswith("_total") and asked.items() <= each.labels.items()
    )


async def answer(url: str, purpose: str, body: bytes) -> dict[str, Any]:
    status, text = await post(f"{url}/{purpose}/podgroup", body)
    assert status == 200
    response: dict[str, Any] = orjson.loads(text)["response"]
    return response


@pytest.mark.parametrize(("purpose", "priority"), [("mutate", None), ("validate", 1000)])
async def test_a_class_that_comes_a_moment_later_is_known(purpose: str, priority: int | None) -> None:
    facts, views = known()
    before = counted(purpose)
    async with listening(facts, LONG) as url:
        asked = asyncio.create_task(answer(url, purpose, group(priority=priority)))
        await asyncio.sleep(0.1)
        learn(views, priority_class("other", 1000))
        await asyncio.sleep(0.1)
        assert not asked.done()
        learn(views, priority_class("high", 1000))
        response = await asked
    assert response["allowed"]
    assert ("patch" in response) == (purpose == "mutate")
    assert counted(purpose) == before + 1


async def test_a_class_that_does_not_come_is_refused() -> None:
    async with listening(known()[0], 0.1) as url:
        assert await answer(url, "mutate", group()) == {"uid": "u-1", "allowed": True}
        response = await answer(url, "validate", group())
    (cause,) = response["status"]["details"]["causes"]
    assert (cause["field"], cause["reason"]) == ("spec.priorityClassName", "FieldValueNotFound")


async def test_who_need_not_wait_does_not() -> None:
    facts, views = known()
    learn(views, priority_class("low", 1000))
    async with listening(facts, LONG) as url:
        for body in (group("low"), group(""), group(operation="UPDATE", oldObject=orjson.loads(group()))):
            await answer(url, "validate", body)
        no_group = orjson.dumps(review({"metadata": {}}, "PodGroup"))
        for body in (b"{}", b"[", b"\xff", b"[" * 100_000, no_group):
            await post(f"{url}/validate/podgroup", body)
    async with listening(followed()[0], LONG) as url:  # which is not synced: that takes longer
        response = await answer(url, "mutate", group())
        assert response["status"]["reason"] == "ServiceUnavailable"


async def test_not_everybody_can_be_waited_for_at_once() -> None:
    facts, views = known()
    async with listening(facts, LONG) as url:
        body = group(priority=1000)
        asked = [asyncio.create_task(answer(url, "validate", body)) for _ in range(MAX_WAITING)]
        responses: list[dict[str, Any]] = []
        while not responses:  # until all of them are there
            done, _ = await asyncio.wait([asyncio.create_task(answer(url, "validate", body))], timeout=1)
            responses = [each.result() for each in done]
        assert not responses[0]["allowed"]
        learn(views, priority_class("high", 1000))
        assert all(each["allowed"] for each in await asyncio.gather(*asked))
