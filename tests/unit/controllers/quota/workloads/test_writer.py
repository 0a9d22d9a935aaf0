"""What became of a write whose answer was lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from api.backoff import Backoff
from api.clock import SYSTEM_CLOCK
from api.core import Namespace
from api.meta import ObjectMeta
from api.pauses import PAUSED
from api.published import NAMESPACE
from api.workloads import Workload
from controllers.quota.life.draft import Draft, Step
from controllers.quota.life.evicting import Preemption, evict, preempt
from controllers.quota.workloads.writer import Outcome, WorkloadWriter
from kube.client import ApiClient
from kube.errors import ApiError
from kube.sender import Sender
from quota.state.workloads import key_of
from runtime.mirror.pauses import Pauses
from runtime.mirror.watched_quota import WatchedQuota
from runtime.work.ranked_slots import RankedSlots
from tests.kit.quota import objects as kit
from tests.kit.views import unconnected

LOST = ApiError(0, "TimeoutError", "no answer in time")
CONFLICT = ApiError(409, "Conflict", "the object has been modified")


class Api:
    """It answers each write with an error, and shows the Workload as it is."""

    cluster = ""

    def __init__(self, shown: Workload | None, *errors: ApiError) -> None:
        self.shown, self.errors = shown, list(errors)

    async def request(self, method: str, *_: object, **__: object) -> bytes:
        if method == "PATCH":
            raise self.errors.pop(0)
        if self.shown is None:
            raise ApiError(404, "NotFound", "gone")
        return msgspec.json.encode(self.shown)


class Quota:
    """What the writer needs of the mirror."""

    def __init__(self, item: Workload) -> None:
        self.pauses = Pauses(unconnected())
        self.state = SimpleNamespace(workloads={key_of(item): item})
        self.workloads = SimpleNamespace(apply=lambda _: None)

    def assume(self, _: Workload) -> None: ...

    def resolve(self, _: str) -> None: ...


BEFORE = kit.set_condition(kit.held(kit.workload("low", "q", 2), 5), "Admitted", "False", "NoChecks", 5)


def eviction(reason: str = "AdmissionCheck", *, deactivates: bool = False) -> Step:
    draft = Draft(BEFORE, kit.us(9))
    evict(draft, reason, "a check wants another try")
    return replace(draft.step(), deactivates=deactivates)


async def written(
    shown: Workload | None,
    *errors: ApiError,
    step: Step | None = None,
    paused: str = "",
    is_called_off: bool = False,
) -> Outcome:
    outcomes: asyncio.Queue[Outcome] = asyncio.Queue()

    def done(_key: str, _step: Step, outcome: Outcome) -> None:
        outcomes.put_nowait(outcome)

    client = cast(ApiClient, Api(shown, *errors))
    sender = Sender(client, attempts=len(errors), backoff=Backoff(0.001, 0.001))
    quota = cast(WatchedQuota, Quota(BEFORE))
    if paused:
        quota.pauses.upsert(Namespace(ObjectMeta(name=paused, annotations={PAUSED: "upgrade"})))
    writer = WorkloadWriter(
        client, quota, sender, RankedSlots(1), SYSTEM_CLOCK, done, lambda _: is_called_off
    )
    writer.start(step or eviction(), (1,))
    return await outcomes.get()


ERRORS: list[Any] = [
    pytest.param((LOST,), id="lost"),
    pytest.param((LOST, CONFLICT), id="lost, then a conflict"),
]


@pytest.mark.parametrize("errors", ERRORS)
async def test_a_write_that_came_through_counts(errors: tuple[ApiError, ...]) -> None:
    """Found by random load on a busy machine: an eviction had no event."""
    assert await written(eviction().workload, *errors) == Outcome(True)


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("shown", [BEFORE, None], ids=["as before", "gone"])
async def test_a_write_that_did_not_come_through_does_not(
    shown: Workload | None, errors: tuple[ApiError, ...]
) -> None:
    assert not (await written(shown, *errors)).written


async def test_another_workload_of_the_same_name_shows_nothing() -> None:
    after = eviction().workload
    other = msgspec.structs.replace(after, metadata=msgspec.structs.replace(after.metadata, uid="another"))
    assert not (await written(other, LOST)).written


async def test_a_status_without_the_deactivation_is_half_of_the_step() -> None:
    step = eviction(deactivates=True)
    assert not (await written(step.workload, LOST, step=step)).written
    spec = msgspec.structs.replace(step.workload.spec, active=False)
    inactive = msgspec.structs.replace(step.workload, spec=spec)
    assert (await written(inactive, LOST, step=step)).written


@pytest.mark.parametrize(
    ("reason", "namespace", "is_sent"),
    [
        ("Preempted", NAMESPACE, False),
        ("Preempted", "ns", False),
        ("QuotaExceeded", "ns", False),
        ("Preempted", "other", True),
        ("AdmissionCheck", NAMESPACE, True),
    ],
)
async def test_a_pause_that_came_while_the_write_waited_withdraws_a_preemption(
    reason: str, namespace: str, is_sent: bool
) -> None:
    step = eviction(reason)
    outcome = await written(step.workload, LOST, step=step, paused=namespace)
    assert outcome == Outcome(is_sent)


async def test_room_that_came_back_while_the_write_waited_withdraws_a_preemption() -> None:
    draft = Draft(BEFORE, kit.us(9))
    preempt(draft, Preemption("ns/plan", "uid", "InClusterQueue", "Preempted to accommodate another", "q"))
    step = draft.step()
    assert await written(step.workload, LOST, step=step) == Outcome(True)
    assert await written(step.workload, LOST, step=step, is_called_off=True) == Outcome(False)


@pytest.mark.parametrize("reason", ["Preempted", "QuotaExceeded"])
async def test_an_eviction_without_a_plan_of_quota_is_not_called_off(reason: str) -> None:
    """As of a Workload whose pods are preempted on nodes."""
    step = eviction(reason)
    assert await written(step.workload, LOST, step=step, is_called_off=True) == Outcome(True)
