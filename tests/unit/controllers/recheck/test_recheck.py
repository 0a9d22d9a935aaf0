"""Stored objects are checked, and their condition says so."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from prometheus_client import REGISTRY

from api.clock import SYSTEM_CLOCK
from controllers.recheck.metrics import INVALID_OBJECTS
from controllers.recheck.recheck import VALID, Rechecker
from hack.controlplane.objects import pod_group
from kube.client import ApiClient
from kube.errors import ApiError
from runtime.terms.term import Term
from tests.kit import apiserver
from tests.kit.clock import ManualClock
from tests.kit.objects import priority_class
from tests.kit.waiting import beside, until
from webhooks import stored as stored_objects
from webhooks.facts import KnownFacts
from webhooks.settings import Settings

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
GROUPS = "/apis/reprieve.dev/v1alpha1/podgroups"
COHORTS = "/apis/kueue.x-k8s.io/v1beta2/cohorts"
CLASSES = KnownFacts([priority_class("high", 1000)])


class Api(apiserver.Api):
    """An API server that serves events, and the kinds that a test puts there."""

    def __init__(self) -> None:
        super().__init__()
        self.events = self.of(EVENTS)

    @property
    def applied(self) -> list[tuple[str, dict[str, Any]]]:
        """(path, body) of the applies."""
        return [(path, body) for method, path, body in self.written if method == "PATCH"]


def group(name: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    made = pod_group(name, namespace, min_count=2, **spec)
    made["metadata"] |= {"uid": f"uid-{name}", "generation": 3}
    return made


def wrong(name: str, namespace: str = "default") -> dict[str, Any]:
    return group(name, namespace, priorityClassName="high", priority=7)


TERM = Term(1, SYSTEM_CLOCK)


def known() -> None:
    """Nothing is missing among the facts."""


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def rechecker(api: Api, clock: ManualClock) -> Rechecker:
    return stored_objects.rechecker(cast(ApiClient, api), CLASSES, Settings(), known, 600, clock)


async def test_what_is_wrong_is_said_in_a_condition(api: Api, rechecker: Rechecker) -> None:
    first, other = (group(name, priorityClassName="high", priority=1000) for name in ("first", "other"))
    api.put(GROUPS, first, wrong("a"), other, wrong("b"), wrong("system", "kube-system"))
    version = api.of(GROUPS)["a"]["metadata"]["resourceVersion"]
    await rechecker.sweep(TERM)
    assert [path for path, _ in api.applied] == [
        "/apis/reprieve.dev/v1alpha1/namespaces/default/podgroups/a/status",
        "/apis/reprieve.dev/v1alpha1/namespaces/default/podgroups/b/status",
    ]
    _, value = api.applied[0]
    assert (value["apiVersion"], value["kind"]) == ("reprieve.dev/v1alpha1", "PodGroup")
    assert value["metadata"] == {"name": "a", "uid": "uid-a", "resourceVersion": version}
    (condition,) = value["status"]["conditions"]
    assert condition["message"].startswith("spec.priority: ")
    assert condition | {"message": ""} == {
        "type": VALID,
        "status": "False",
        "reason": "Invalid",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 3,
    }
    assert INVALID_OBJECTS.labels("PodGroup")._value.get() == 2


async def test_it_is_said_once_and_taken_back(api: Api, rechecker: Rechecker, clock: ManualClock) -> None:
    stored = wrong("a")
    api.put(GROUPS, stored)
    await rechecker.sweep(TERM)
    clock.advance(86400)
    await rechecker.sweep(TERM)
    assert len(api.applied) == 1
    stored["spec"]["priority"] = 8
    await rechecker.sweep(TERM)
    (condition,) = stored["status"]["conditions"]
    assert "8" in condition["message"]
    assert condition["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    stored["spec"]["priority"] = 1000
    await rechecker.sweep(TERM)
    (condition,) = stored["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("True", "Valid")
    assert condition["lastTransitionTime"] == "2026-01-02T00:00:00Z"
    await rechecker.sweep(TERM)
    assert len(api.applied) == 3


async def test_of_kinds_without_conditions_an_event_says_what_is_wrong(
    api: Api, rechecker: Rechecker
) -> None:
    """One for each fault, whoever finds it and how often."""
    bad = {"metadata": {"name": "all", "uid": "u"}, "spec": {"fairSharing": {"weight": "-1"}}}
    api.put(COHORTS, bad)
    await rechecker.sweep(TERM)
    await stored_objects.rechecker(cast(ApiClient, api), CLASSES, Settings(), known, 600).sweep(TERM)
    assert api.applied == []
    assert INVALID_OBJECTS.labels("Cohort")._value.get() == 1
    (event,) = api.events.values()
    assert event["type"] == "Warning"
    assert event["note"].startswith("spec.fairSharing: ")
    assert event["regarding"] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Cohort",
        "name": "all",
        "uid": "u",
    }
    bad["spec"] = {"fairSharing": {"weight": "-2"}}
    await rechecker.sweep(TERM)
    assert len(api.events) == 2
    bad["spec"] = {}
    await rechecker.sweep(TERM)
    assert len(api.events) == 2


@pytest.mark.parametrize("status", [0, 403, 404, 409, 422])
async def test_one_refusal_does_not_keep_the_others_from_being_checked(
    api: Api, rechecker: Rechecker, status: int
) -> None:
    api.put(GROUPS, wrong("a"), wrong("b"), wrong("c"))
    api.refuse = lambda method, _path: ApiError(status, "Reason", "message") if method != "GET" else None
    await rechecker.sweep(TERM)
    assert INVALID_OBJECTS.labels("PodGroup")._value.get() == 3


async def test_nothing_is_checked_before_the_facts_are_known(api: Api) -> None:
    api.put(GROUPS, wrong("a"))
    asked = asyncio.Semaphore(0)
    fault: str | None = "not yet"

    def facts() -> str | None:
        asked.release()
        return fault

    rechecker = stored_objects.rechecker(cast(ApiClient, api), CLASSES, Settings(), facts, 0.001)
    assert {name: check() for name, check in rechecker.checks().items()} == {"facts": "not yet"}
    async with beside(rechecker.lead(TERM)):
        for _ in range(3):
            await asked.acquire()
        assert api.applied == []
        fault = None
        for _ in range(3):
            await asked.acquire()
        assert len(api.applied) == 1


async def test_after_its_term_nothing_is_written(api: Api, rechecker: Rechecker) -> None:
    clock = ManualClock()
    term = Term(1, clock, end=clock.monotonic() + 10)
    api.put(GROUPS, wrong("a"))
    api.put(COHORTS, {"metadata": {"name": "all", "uid": "u"}, "spec": {"fairSharing": {"weight": "-1"}}})
    clock.advance(10)
    await rechecker.sweep(term)
    assert api.written == []


async def test_who_leads_no_longer_shows_no_count(api: Api, rechecker: Rechecker) -> None:
    def shown() -> float | None:
        return REGISTRY.get_sample_value("reprieve_webhook_invalid_objects", {"kind": "PodGroup"})

    INVALID_OBJECTS.clear()
    api.put(GROUPS, wrong("a"))
    async with beside(rechecker.lead(TERM)):
        await until(lambda: shown() == 1)
    assert shown() is None
