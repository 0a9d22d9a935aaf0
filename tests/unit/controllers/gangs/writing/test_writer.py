"""Writes: what is sent, what is tried again, and which refusals are answers."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import aiohttp
import msgspec
import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from api.backoff import Backoff
from api.clock import SYSTEM_CLOCK
from api.core import Namespace
from api.meta import Condition, LabelSelector, ObjectMeta
from api.plans import PreemptionPlan, PreemptionPlanSpec, PreemptionPlanStatus, Preemptor
from controllers.gangs.lifecycle.modes import Mode, Modes
from controllers.gangs.writing.pod_writer import LATE_SECONDS, Deletion, Marked, PodWriter
from controllers.gangs.writing.writer import Reference, Writer
from kube.client import ApiClient
from kube.errors import ApiError
from kube.sender import Sender
from tests.kit.clock import ManualClock
from tests.kit.pod_writes import pod_writer
from tests.kit.scripted import Script, faulty_server, status
from tests.kit.waiting import until

GROUP = Reference("reprieve.dev/v1alpha1", "PodGroup", "d", "g", "uid-g")


class Sent(NamedTuple):
    """One request."""

    method: str
    path: str
    content_type: str
    body: Any


class Recording(Script):
    """Answers from a list, then with `{}`; remembers what was sent."""

    def __init__(self, *answers: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> None:
        super().__init__()
        self.answers = list(answers)
        self.sent: list[Sent] = []
        self.accepted: list[str] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body = json.loads(text) if text else None
        self.accepted.append(request.headers["Accept"])
        self.sent.append(Sent(request.method, request.path, request.content_type, body))
        return await (self.answers.pop(0) if self.answers else self.json({}))(request)


def refusal(code: int, reason: str, **headers: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    return Script.json(status(code, reason), code=code, headers=headers)


@asynccontextmanager
async def writing(script: Recording) -> AsyncIterator[Writer]:
    async with faulty_server(script) as client:
        writer = Writer(client, SYSTEM_CLOCK, sender=Sender(client, attempts=3, backoff=Backoff(0.01, 0.02)))
        try:
            yield writer
        finally:
            await writer.close()


@asynccontextmanager
async def writing_pods(script: Recording, mode: Mode = "Enforce") -> AsyncIterator[PodWriter]:
    async with faulty_server(script) as client:
        yield pod_writer(client, Sender(client, attempts=3, backoff=Backoff(0.01, 0.02)), mode)


async def test_a_pods_status_is_patched_for_one_uid() -> None:
    marked_pod = {"metadata": {"name": "p", "uid": "uid-p", "resourceVersion": "7"}}
    script = Recording(Script.json({}), Script.json(marked_pod))
    async with writing_pods(script) as pods:
        held = Condition(type="reprieve.dev/Held", status="False", reason="Ready", message="go")
        assert await pods.patch_pod_status("d", "p", "uid-p", conditions=[held], nominated_node_name="n1")
        mark = await pods.mark_disruption_target("d", "p", "uid-p", "PreemptionByScheduler", "preempted")
        assert mark == Marked("7", leaves=False)
    nominated, marked = script.sent
    assert nominated == Sent(
        "PATCH",
        "/api/v1/namespaces/d/pods/p/status",
        "application/strategic-merge-patch+json",
        {
            "metadata": {"uid": "uid-p"},
            "status": {
                "conditions": [
                    {"type": "reprieve.dev/Held", "status": "False", "reason": "Ready", "message": "go"}
                ],
                "nominatedNodeName": "n1",
            },
        },
    )
    (condition,) = marked.body["status"]["conditions"]
    assert "nominatedNodeName" not in marked.body["status"]
    assert condition["type"] == "DisruptionTarget"
    assert condition["reason"] == "PreemptionByScheduler"


async def test_marks_and_deletions_ask_for_metadata_only() -> None:
    marked_pod = {"metadata": {"name": "p", "uid": "uid-p", "resourceVersion": "7"}}
    script = Recording(Script.json(marked_pod))
    async with writing_pods(script) as pods:
        await pods.mark_disruption_target("d", "p", "uid-p", "PreemptionByScheduler", "preempted")
        await pods.delete_pod("d", "p", "uid-p", "7")
        await pods.unmark_disruption_target("d", "p", "uid-p")
    wanted = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    assert script.accepted == [wanted] * 3


@pytest.mark.parametrize("code", [404, 422])
async def test_a_status_for_a_pod_that_is_gone_or_another_is_an_answer(code: int) -> None:
    wrong = {**status(code, "Invalid"), "message": 'Pod "p" is invalid: metadata.uid: field is immutable'}
    script = Recording(Script.json(wrong, code=code))
    async with writing_pods(script) as pods:
        assert not await pods.patch_pod_status("d", "p", "uid-p", nominated_node_name="n1")
    assert len(script.sent) == 1


async def test_another_invalid_status_is_an_error() -> None:
    async with writing_pods(Recording(refusal(422, "Invalid"))) as pods:
        with pytest.raises(ApiError, match="422 Invalid"):
            await pods.patch_pod_status("d", "p", "uid-p", nominated_node_name="n1")


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ([], Deletion.DELETED),
        ([refusal(404, "NotFound")], Deletion.GONE),
        ([refusal(409, "Conflict")], Deletion.CHANGED),
        ([refusal(503, "ServiceUnavailable"), refusal(404, "NotFound")], Deletion.GONE),
    ],
)
async def test_a_pod_is_deleted_by_uid_and_version(answers: list[Any], result: Deletion) -> None:
    script = Recording(*answers)
    async with writing_pods(script) as pods:
        assert await pods.delete_pod("d", "p", "uid-p", "7") is result
    assert script.sent[0].body["preconditions"] == {"uid": "uid-p", "resourceVersion": "7"}
    assert script.sent[0].method == "DELETE"


def over_budget() -> Any:
    cause = {
        "reason": "DisruptionBudget",
        "message": "The disruption budget web needs 2 healthy pods and has 2 currently",
    }
    body = {**status(429, "TooManyRequests"), "details": {"retryAfterSeconds": 10, "causes": [cause]}}
    return Script.json(body, code=429)


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ([], Deletion.DELETED),
        ([refusal(404, "NotFound")], Deletion.GONE),
        ([refusal(409, "Conflict")], Deletion.CHANGED),
        ([refusal(429, "TooManyRequests"), refusal(404, "NotFound")], Deletion.GONE),
        ([over_budget()], Deletion.OVER_BUDGET),
    ],
)
async def test_a_pod_is_evicted_by_uid_and_version(answers: list[Any], result: Deletion) -> None:
    """A server that is busy is asked again, and a budget that is used up is not."""
    script = Recording(*answers)
    async with writing_pods(script) as pods:
        assert await pods.evict_pod("d", "p", "uid-p", "7") is result
    assert len(script.sent) == max(1, len(answers))
    sent = script.sent[0]
    assert (sent.method, sent.path) == ("POST", "/api/v1/namespaces/d/pods/p/eviction")
    assert sent.body["deleteOptions"]["preconditions"] == {"uid": "uid-p", "resourceVersion": "7"}
    assert (sent.body["apiVersion"], sent.body["kind"]) == ("policy/v1", "Eviction")


async def test_outages_are_outlasted_and_refusals_are_not() -> None:
    script = Recording(refusal(429, "TooManyRequests"), Script.text("<h1>Bad Gateway</h1>", code=502))
    async with writing(script) as writer:
        await writer.delete_plan("d", "plan")
    assert len(script.sent) == 3
    script = Recording(*[refusal(503, "ServiceUnavailable")] * 3)
    async with writing(script) as writer:
        with pytest.raises(ApiError, match="503"):
            await writer.delete_plan("d", "plan")
    assert len(script.sent) == 3
    script = Recording(refusal(403, "Forbidden"))
    async with writing(script) as writer:
        with pytest.raises(ApiError, match="403 Forbidden"):
            await writer.delete_plan("d", "plan")
    assert len(script.sent) == 1


async def test_a_server_that_is_not_there_is_an_error_without_status() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with aiohttp.ClientSession() as session:
            client = ApiClient(session, f"http://127.0.0.1:{taken.getsockname()[1]}")
            with pytest.raises(ApiError) as caught:
                await Sender(client, attempts=1).send("test", "GET", "/")
    assert caught.value.status == 0
    assert caught.value.is_retriable


def plan(name: str) -> PreemptionPlan:
    preemptor = Preemptor("PodGroup", GROUP.api_version, "d", "g", "uid-g", 5)
    return PreemptionPlan(
        metadata=ObjectMeta(name=name, namespace="d"),
        spec=PreemptionPlanSpec(preemptor=preemptor, outcome="Fits", reason="it fits"),
    )


async def test_plans_are_written_and_the_answers_are_read() -> None:
    stored = msgspec.to_builtins(plan("one"))
    script = Recording(
        Script.json(stored, code=201), Script.json({"items": [stored]}), Script.json(stored), Script.json(stored),
        Script.json(stored), refusal(404, "NotFound"),
    )  # fmt: skip
    meta = ObjectMeta(
        namespace="d", name="one", uid="u", resource_version="7", finalizers=["other", "theirs"]
    )
    async with writing(script) as writer:
        assert await writer.create_plan(plan("one")) == plan("one")
        assert await writer.find_plan("d", "one") == plan("one")
        await writer.patch_plan_status("d", "one", PreemptionPlanStatus(phase="Planned"))
        await writer.add_plan_finalizer(meta, "ours")
        await writer.remove_plan_finalizer(meta, "theirs")
        await writer.delete_plan("d", "one")
    paths = [(sent.method, sent.path.removeprefix("/apis/reprieve.dev/v1alpha1")) for sent in script.sent]
    assert paths == [
        ("POST", "/namespaces/d/preemptionplans"),
        ("GET", "/namespaces/d/preemptionplans"),
        ("PATCH", "/namespaces/d/preemptionplans/one/status"),
        ("PATCH", "/namespaces/d/preemptionplans/one"),
        ("PATCH", "/namespaces/d/preemptionplans/one"),
        ("DELETE", "/namespaces/d/preemptionplans/one"),
    ]
    assert script.sent[2].body == {"status": {"phase": "Planned"}}
    finalizers = ["other", "theirs", "ours"]
    assert script.sent[3].body == {"metadata": {"uid": "u", "resourceVersion": "7", "finalizers": finalizers}}
    assert script.sent[4].body == [
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "test", "path": "/metadata/finalizers/1", "value": "theirs"},
        {"op": "remove", "path": "/metadata/finalizers/1"},
    ]


async def test_an_answer_that_is_no_plan_is_an_error() -> None:
    async with writing(Recording(Script.json({"kind": "Status"}))) as writer:
        with pytest.raises(ApiError, match="no PreemptionPlan"):
            await writer.patch_plan_status("d", "one", PreemptionPlanStatus())


async def test_events_name_both_objects_and_repeat_as_a_series() -> None:
    script = Recording()
    async with writing(script) as writer:
        for _ in range(5):
            writer.event(GROUP, "Warning", "Unschedulable", "Planning", "x" * 3000, related=GROUP)
    created, repeated = script.sent
    assert created.path == "/apis/events.k8s.io/v1/namespaces/d/events"
    assert created.body["regarding"] == created.body["related"] == GROUP.wire
    assert created.body["reportingController"] == "reprieve.dev/reprieve"
    assert len(created.body["note"]) == 1024
    assert repeated.method == "PATCH"
    assert repeated.path == f"{created.path}/{created.body['metadata']['name']}"
    assert repeated.body["series"]["count"] == 5


async def test_the_event_of_a_long_name_has_a_name_that_the_server_takes() -> None:
    script = Recording()
    async with writing(script) as writer:
        for end in ("-", "."):
            writer.event(
                GROUP._replace(name="a" * 229 + end + "b" * 23), "Normal", "Bound", "Binding", "note"
            )
    names = [sent.body["metadata"]["name"] for sent in script.sent]
    assert [name[:230] for name in names] == ["a" * 229 + "."] * 2
    assert all(len(name) <= 253 for name in names)


async def test_an_event_that_the_server_has_forgotten_is_a_new_one() -> None:
    script = Recording(Script.json({}, code=201), refusal(404, "NotFound"))
    async with writing(script) as writer:
        for _ in range(2):
            writer.event(GROUP, "Normal", "Bound", "Binding", "note")
    assert [sent.method for sent in script.sent] == ["POST", "PATCH", "POST"]


async def test_events_never_raise_and_are_limited_per_object() -> None:
    script = Recording(*[refusal(403, "Forbidden")] * 10)
    async with writing(script) as writer:
        for number in range(100):
            writer.event(GROUP, "Normal", "Bound", "Binding", f"note {number}")
        await until(lambda: len(script.sent) >= 25)  # a writer that closes waits for a little only
    assert len(script.sent) == 25


async def test_a_pod_is_nominated_in_one_version_and_the_nomination_withdrawn_only_if_it_is_that_one() -> (
    None
):
    script = Recording()
    async with writing_pods(script) as pods:
        assert await pods.nominate("d", "p", "uid-p", resource_version="7", node="n.invalid")
        assert await pods.withdraw_nomination("d", "p", "uid-p", node="n.invalid")
    path = "/api/v1/namespaces/d/pods/p/status"
    nominated, withdrawn = script.sent
    assert nominated == Sent(
        "PATCH",
        path,
        "application/merge-patch+json",
        {
            "metadata": {"uid": "uid-p", "resourceVersion": "7"},
            "status": {"nominatedNodeName": "n.invalid"},
        },
    )
    assert withdrawn == Sent(
        "PATCH",
        path,
        "application/json-patch+json",
        [
            {"op": "test", "path": "/metadata/uid", "value": "uid-p"},
            {"op": "test", "path": "/status/nominatedNodeName", "value": "n.invalid"},
            {"op": "remove", "path": "/status/nominatedNodeName"},
        ],
    )


@pytest.mark.parametrize("code", [404, 422])
async def test_a_nomination_of_a_pod_that_is_gone_or_bound_or_has_another_is_an_answer(code: int) -> None:
    script = Recording(refusal(code, "Invalid"), refusal(code, "Invalid"))
    async with writing_pods(script) as pods:
        assert not await pods.nominate("d", "p", "uid-p", resource_version="7", node="n.invalid")
        assert not await pods.withdraw_nomination("d", "p", "uid-p", node="n.invalid")


async def test_a_nomination_of_a_pod_that_has_changed_is_an_error() -> None:
    async with writing_pods(Recording(refusal(409, "Conflict"))) as pods:
        with pytest.raises(ApiError, match="409 Conflict"):
            await pods.nominate("d", "p", "uid-p", resource_version="7", node="n.invalid")


@pytest.mark.parametrize(
    "write",
    [
        lambda pods: pods.patch_pod_status("d", "p", "uid-p"),
        lambda pods: pods.patch_pod_status("d", "p", "uid-p", dry_run=True),
        lambda pods: pods.nominate("d", "p", "uid-p", resource_version="7", node="n1"),
        lambda pods: pods.withdraw_nomination("d", "p", "uid-p", node="n1"),
        lambda pods: pods.mark_disruption_target("d", "p", "uid-p", "PreemptionByScheduler", "preempted"),
        lambda pods: pods.unmark_disruption_target("d", "p", "uid-p"),
        lambda pods: pods.remove_gate("d", "p", "uid-p"),
        lambda pods: pods.delete_pod("d", "p", "uid-p"),
        lambda pods: pods.delete_pod("d", "p", "uid-p", dry_run=True),
        lambda pods: pods.evict_pod("d", "p", "uid-p"),
    ],
)
async def test_nothing_is_sent_for_a_pod_of_a_namespace_that_is_not_enforced(
    write: Callable[[PodWriter], Awaitable[object]],
) -> None:
    script, before = Recording(), refused_writes()
    async with writing_pods(script, "Off") as pods:
        with pytest.raises(ApiError, match="403 NotEnforced: the mode of namespace d is Off"):
            await write(pods)
    assert script.sent == []
    assert refused_writes() == before + 1


async def test_a_write_that_was_begun_before_the_mode_changed_is_not_sent_again() -> None:
    """The API server is away, and the label of the namespace changes meanwhile."""
    modes, before = Modes("Enforce", LabelSelector(match_labels={"on": "yes"})), refused_writes()
    modes.upsert(Namespace(ObjectMeta(name="d", labels={"on": "yes"})))

    async def away(request: web.Request) -> web.StreamResponse:
        modes.upsert(Namespace(ObjectMeta(name="d")))
        return await refusal(503, "ServiceUnavailable")(request)

    script = Recording(away)
    async with faulty_server(script) as client:
        sender = Sender(client, attempts=3, backoff=Backoff(0.0, 0.0))
        pods = PodWriter(sender, SYSTEM_CLOCK, modes, lambda *_args, **_options: None)
        with pytest.raises(ApiError, match="403 NotEnforced: the mode of namespace d is Observe"):
            await pods.delete_pod("d", "p", "uid-p")
    assert len(script.sent) == 1
    assert refused_writes() == before, "it was begun in time"


async def test_a_write_that_comes_just_after_the_mode_changed_is_no_fault() -> None:
    script, clock, before = Recording(), ManualClock(), refused_writes()
    async with faulty_server(script) as client:
        pods = PodWriter(Sender(client), clock, Modes("Observe"), lambda *_args, **_options: None)
        pods.enforcement_ended("d")
        for seconds, counted in ((1.0, 0), (LATE_SECONDS, 1)):
            clock.advance(seconds)
            with pytest.raises(ApiError, match="403 NotEnforced"):
                await pods.delete_pod("d", "p", "uid-p")
            assert refused_writes() == before + counted
    assert script.sent == []


def refused_writes() -> float:
    return REGISTRY.get_sample_value("reprieve_pod_writes_refused_total") or 0.0
