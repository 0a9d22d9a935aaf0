"""What is remembered of a cluster that refuses or fails."""

from __future__ import annotations

from typing import Any, cast

import pytest

from api.meta import Condition
from api.workloads import WorkloadStatus
from controllers.jobs.batch.workload_of import wish_of, workload_body
from controllers.jobs.owned_workload import Classes
from controllers.multikueue.acting import there
from controllers.multikueue.acting.identity import Identity
from controllers.multikueue.acting.originals import JOB_PATH, WORKLOAD_PATH, Originals
from controllers.multikueue.acting.telling import Telling
from controllers.multikueue.acting.there import ActsThere
from controllers.multikueue.clusters.client import NO_DRY_RUN
from controllers.multikueue.clusters.connection import Connection
from controllers.multikueue.life.decision import CreateCopy, CreateJob, There, TryJob
from controllers.multikueue.life.memory import EMPTY, Memory
from controllers.multikueue.life.seen import ClusterSeen, Seen
from kube.client import ApiClient
from kube.errors import ApiError
from kube.recorder import EventRecorder
from kube.sender import Sender
from tests.kit.apiserver import Api
from tests.kit.jobs import job, read_job, read_workload

ATTEMPT = "2026-01-01T00:00:00Z"


class Cluster:
    """As much of a `Connection` as these acts need."""

    name = "alpha"
    honours_gates = True

    def __init__(self) -> None:
        self.api = Api()
        self.api.of("/apis/batch/v1/namespaces/ns/jobs/x")
        self.api.of(WORKLOAD_PATH.format("ns", "x"))
        self.client = cast(ApiClient, self.api)
        self.sender = Sender(self.client, attempts=1)
        self.jobs: list[bytes] = []

    def apply_job(self, answer: bytes) -> None:
        self.jobs.append(answer)

    def apply_copy(self, answer: bytes) -> None:
        self.jobs.append(answer)

    def copy(self, _key: str) -> None:
        """The watch does not show it yet."""


class Stage:
    """A Workload with quota here, and one cluster."""

    def __init__(self) -> None:
        self.here, self.cluster, self.memory = Api(), Cluster(), EMPTY
        self.clock = self.here.clock
        body = job()
        workload = workload_body(read_job(body), wish_of(read_job(body), Classes({}, {})))
        workload["metadata"]["uid"] = "w"
        body["metadata"]["uid"] = "j"
        name, namespace = workload["metadata"]["name"], "ns"
        self.here.put(WORKLOAD_PATH.format(namespace, name), workload)
        self.here.put(JOB_PATH.format(namespace, body["metadata"]["name"]), body)
        reserved = Condition("QuotaReserved", "True", "QuotaReserved", "", ATTEMPT)
        seen_workload = read_workload(workload)
        seen_workload.status = WorkloadStatus(conditions=[reserved])
        self.seen = Seen(
            f"{namespace}/{name}",
            seen_workload,
            "manager",
            "mk",
            job=read_job(body),
            attempt=ATTEMPT,
            clusters=(ClusterSeen("alpha", "Connected"),),
        )
        client = cast(ApiClient, self.here)
        recorder = EventRecorder(Sender(client), clock=self.clock)
        self.acts = ActsThere(
            Originals(client, self.clock),
            Identity("manager", "multikueue", "a/1", 900),
            Telling(recorder, self.clock),
            self._remember,
            self.clock,
        )

    def _remember(self, _: Seen, change: Any) -> None:
        self.memory = cast(Memory, change(self.memory))

    def answers(self, error: ApiError | None) -> None:
        """What the cluster answers to the creation of a Job."""
        self.cluster.api.refuse = lambda method, _: error if method.startswith("POST") else None

    async def act(self, act: There) -> None:
        await self.acts.carry_out(act, self.seen, cast(Connection, self.cluster))

    async def fails(self, act: There) -> None:
        with pytest.raises(ApiError):
            await self.act(act)


FAILURE = ApiError(500, "InternalError", "HTTP 500 Internal Server Error")


@pytest.mark.parametrize("act", [TryJob(), CreateJob()])
async def test_a_cluster_that_fails_for_a_minute_is_out(act: There) -> None:
    """A webhook there that never answers would hold the Workload for ever."""
    stage = Stage()
    stage.answers(FAILURE)
    for _ in range(6):
        await stage.fails(act)
        stage.clock.advance(9)
    assert not stage.memory.out
    stage.clock.advance(6)
    await stage.act(act)
    assert stage.memory.out["alpha"].message == (
        "no Job or PodGroup could be made there for 60 s: HTTP 500 Internal Server Error"
    )


@pytest.mark.parametrize("act", [CreateCopy(has_gate=True), TryJob(), CreateJob()])
async def test_a_failure_is_remembered_until_the_act_is_carried_out(act: There) -> None:
    """A copy is tried for ever: nobody waits for it."""
    stage = Stage()
    stage.answers(FAILURE)
    for _ in range(3):
        await stage.fails(act)
        assert stage.memory.failing["alpha"].endswith("made there yet: HTTP 500 Internal Server Error")
    stage.answers(ApiError(0, "NotConnected", "there is no session with the cluster"))
    await stage.fails(act)
    assert "500" in stage.memory.failing["alpha"]
    stage.answers(None)
    await stage.act(act)
    assert not stage.memory.failing
    assert not stage.memory.out


@pytest.mark.parametrize("answer", [b"[]", b"{}", b'{"metadata": {"annotations": "x"}}', b"[" * 10_000, None])
@pytest.mark.parametrize("act", [TryJob(), CreateJob()])
async def test_a_name_that_is_taken_by_what_cannot_be_read_is_a_failure(
    act: There, answer: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It held the Workload for ever: the failure of this read counted for nothing."""
    stage = Stage()
    stage.answers(ApiError(409, "AlreadyExists", "HTTP 409 Conflict"))

    async def get(*_: object) -> bytes:
        if answer is None:
            raise FAILURE
        return answer

    monkeypatch.setattr(there, "get_or_none", get)
    for _ in range(6):
        await stage.fails(act)
        assert stage.memory.failing
        stage.clock.advance(11)
    await stage.act(act)
    assert stage.memory.out["alpha"].reason == "Failing"


async def test_failures_count_only_in_a_row() -> None:
    """Not those before a time in which the cluster was away, before a success, or of another attempt."""
    stage = Stage()
    stage.answers(FAILURE)
    await stage.fails(TryJob())
    stage.clock.advance(70)
    await stage.fails(TryJob())
    stage.clock.advance(50)
    stage.answers(None)
    await stage.act(TryJob())
    stage.answers(FAILURE)
    stage.clock.advance(20)
    await stage.fails(TryJob())
    assert not stage.memory.out


async def test_what_was_not_sent_says_nothing_about_the_cluster() -> None:
    stage = Stage()
    stage.answers(ApiError(0, "NotConnected", "there is no session with the cluster"))
    for _ in range(9):
        await stage.fails(TryJob())
        stage.clock.advance(10)
    assert not stage.memory.out


async def test_a_webhook_that_takes_no_dry_run_is_no_refusal() -> None:
    stage = Stage()
    stage.answers(ApiError(400, "BadRequest", f"HTTP 400 Bad Request: {NO_DRY_RUN}"))
    await stage.act(TryJob())
    assert stage.memory.tried == {"alpha"}
    stage.answers(ApiError(400, "BadRequest", "HTTP 400 Bad Request"))
    await stage.act(TryJob())
    assert stage.memory.out["alpha"].reason == "BadRequest"
