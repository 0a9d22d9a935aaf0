"""The account beside an observer: what plans say of what the scheduler did instead."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
import pytest
from prometheus_client import REGISTRY

from api.instead import Instead
from api.plans import PreemptionPlan
from api.preempted import PreemptedEvent
from controllers.account.accounting import FIRST_SECONDS, WRITE_SECONDS, Accounting
from controllers.account.cases import LATE_SECONDS
from controllers.account.configuration import ObservingConfiguration
from controllers.account.controller import AccountController
from controllers.gangs.accounted import Accounted
from kube.client import ApiClient
from kube.errors import ApiError
from runtime.terms.term import Term
from tests.kit.objects import BIG, gang, member, node, pod
from tests.kit.observed import ObservedStage, observed
from tests.kit.stage import PLANS

PREEMPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "default-scheduler: preempting to accommodate a higher priority pod",
}
OURS = {**PREEMPTED, "message": "PodGroup default/gang (priority 100) preempts this pod [term 1 of x]"}


class Account:
    """The account in a process of its own, beside the planner of a stage."""

    def __init__(self, stage: ObservedStage) -> None:
        self.stage, self._number = stage, 0
        client = cast(ApiClient, stage.api)
        roll = Accounted(stage.controller)
        self.controller = AccountController(
            ObservingConfiguration(episode_seconds=100), client, stage.views, roll, stage.api.clock
        )
        self.controller._events.replaced(set(), "")
        self.acting: Accounting | None = None

    def begin(self) -> Account:
        """A term begins."""
        self.acting = self.controller.begin(Term(1, self.stage.api.clock, holder="stage"))
        return self

    async def pass_time(self, seconds: float) -> None:
        self.stage.clock += seconds
        await self.step()

    async def step(self) -> None:
        assert self.acting is not None
        self.stage.list_plans()
        self.acting.step()
        await self.acting.writing.flush()
        self.stage.list_plans()

    def event(self, victim: str, preemptor: str, where: str, kind: str = "pod") -> None:
        """A scheduler says for whom (UID) it has preempted a pod (UID)."""
        self._number += 1
        body = {
            "metadata": {
                "namespace": "default",
                "name": f"e{self._number}",
                "uid": f"e{self._number}",
                "resourceVersion": self.stage.api.next_version(),
            },
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": victim, "uid": victim},
            "reason": "Preempted",
            "message": f"Preempted by {kind} {preemptor} on node {where}",
        }
        self.controller._events.upsert(msgspec.convert(body, PreemptedEvent), listed=False)

    def preempt(self, number: int, **fields: Any) -> None:
        """The scheduler marks the pod v{number} and deletes it."""
        self.stage.add(victim(number, conditions=[PREEMPTED], deleting="2026-01-01T00:00:30Z", **fields))

    def said(self) -> Instead | None:
        """What the only plan says."""
        (plan,) = self.stage.api.of(PLANS).values()
        status = msgspec.convert(plan, PreemptionPlan).status
        assert status is not None
        return status.instead


def victim(number: int, **fields: Any) -> Any:
    return pod(f"v{number}", **{"node": f"n{number}", "requests": BIG, "priority": 1, **fields})


def uid(of: Any) -> str:
    name: str = of.metadata.uid
    return name


@asynccontextmanager
async def accounted(*more: Any, members: int = 2) -> AsyncIterator[Account]:
    """A gang of two with a plan to evict v0 and v1, and the account."""
    objects = [node("n0"), node("n1"), gang(minimum=2), *(member(each) for each in range(members))]
    async with observed(*objects, victim(0), victim(1), *more) as stage:
        account = Account(stage)
        await stage.settle()
        await stage.written()
        stage.list_plans()
        yield account


async def test_the_plan_says_what_the_scheduler_did_instead() -> None:
    async with accounted() as account:
        account.begin()
        await account.step()
        assert account.said() is None, "nothing has happened"
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.step()
        assert account.said() is None, "others may come within the same second"
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.state, said.victims.pods, said.victims.highest_priority) == ("Same", 1, 1)
        assert (said.bound, said.concluded) == (False, False)
        account.stage.delete(victim(0))
        account.stage.add(member(0, node="n0"))
        await account.step()
        await account.pass_time(WRITE_SECONDS)
        account.preempt(1)
        account.event(uid(victim(1)), uid(member(1)), "n1")
        account.stage.delete(victim(1))
        account.stage.add(member(1, node="n1"))
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.victims.pods, said.bound, said.concluded) == (2, True, True)
        assert (said.in_pieces, said.served_nobody, said.groups_broken) == (True, 0, 0)


async def test_what_is_said_when_a_gang_runs_stays() -> None:
    """That is written between the end of its case and the end of the time in which events may come."""
    async with accounted() as account:
        account.begin()
        for number in range(2):
            account.preempt(number)
            account.event(uid(victim(number)), uid(member(number)), f"n{number}")
        await account.step()
        for number in range(2):
            account.stage.delete(victim(number))
            account.stage.add(member(number, node=f"n{number}"))
        await account.step()
        for _ in range(4):
            await account.pass_time(LATE_SECONDS)
            said = account.said()
            assert said is not None
            assert (said.victims.pods, said.bound) == (2, True)
        assert said.concluded
        assert account.acting is not None
        assert len(account.acting._ledger) == 0


async def test_nothing_is_written_at_rest() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        for _ in range(3):
            await account.pass_time(WRITE_SECONDS)
        before = len(account.stage.api.written)
        for _ in range(5):
            await account.pass_time(5.0)
        assert len(account.stage.api.written) == before


async def test_our_own_victims_are_not_the_schedulers() -> None:
    async with accounted() as account:
        account.begin()
        account.stage.add(victim(0, conditions=[OURS], deleting="2026-01-01T00:00:30Z"))
        for _ in range(3):
            await account.pass_time(LATE_SECONDS)
        assert account.said() is None


async def test_a_group_of_which_a_part_is_preempted_is_broken() -> None:
    unit = gang("whole", mode="all", priority=1)
    pods = [
        pod(f"w{each}", node=f"n{each}", group="whole", requests={"cpu": "1"}, priority=1)
        for each in range(2)
    ]
    async with accounted(unit, *pods) as account:
        account.begin()
        account.stage.add(
            pod("w0", node="n0", group="whole", requests={"cpu": "1"}, priority=1, conditions=[PREEMPTED])
        )
        account.event(uid(pods[0]), uid(member(0)), "n0")
        await account.step()
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.groups_broken, said.victims.units) == (1, 1)


async def test_a_new_leader_counts_nobody_twice() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.step()
        await account.pass_time(FIRST_SECONDS)
        account.stage.delete(victim(0))
        account.begin()
        account.preempt(1)
        account.event(uid(victim(1)), uid(member(1)), "n1")
        await account.step()
        await account.pass_time(WRITE_SECONDS + FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert said.victims.pods == 2
        assert said.state == "Unknown", "of v0 only the event is left"


async def test_a_new_leader_does_not_count_what_is_concluded() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.delete(victim(0), victim(1))
        account.stage.add(member(0, node="n0"), member(1, node="n1"))
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert said.concluded
        before = len(account.stage.api.written), counted("true")
        account.begin()
        for _ in range(3):
            await account.pass_time(LATE_SECONDS)
        assert (len(account.stage.api.written), counted("true")) == before


async def test_a_plan_whose_preemptor_ran_before_the_term_is_not_counted() -> None:
    async with accounted() as account:
        account.stage.delete(victim(0), victim(1))
        account.stage.add(member(0, node="n0"), member(1, node="n1"))
        account.begin()
        for _ in range(3):
            await account.pass_time(LATE_SECONDS)
        assert account.said() is None


def counted(served: str) -> float:
    return REGISTRY.get_sample_value("reprieve_scheduler_victims_total", {"served": served}) or 0.0


async def test_a_single_pod_is_in_the_account_without_a_plan() -> None:
    hero, before = pod("hero", priority=100, requests=BIG), counted("true")
    async with observed(node("n0"), victim(0), hero) as stage:
        account = Account(stage).begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(hero), "n0")
        stage.delete(victim(0))
        stage.add(pod("hero", priority=100, requests=BIG, node="n0"))
        await account.step()
        await account.pass_time(LATE_SECONDS)
        assert stage.api.written == []
    assert counted("true") == before + 1


async def test_a_nomination_says_for_whom_if_no_event_does() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.stage.add(member(0, nominated="n0"))
        await account.pass_time(LATE_SECONDS)
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert said.victims.pods == 1


async def test_a_preempt_call_says_for_whom_if_no_event_does() -> None:
    async with accounted() as account:
        account.begin()
        account.stage.controller.preempt_heard(member(0), {"n0": [uid(victim(0))]})
        account.preempt(0)
        await account.pass_time(LATE_SECONDS)
        await account.pass_time(FIRST_SECONDS)
        said = account.said()
        assert said is not None
        assert said.victims.pods == 1


async def test_what_nobody_explains_is_unknown() -> None:
    before = counted("unknown")
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        await account.pass_time(100.0)
    assert counted("unknown") == before + 1


async def test_a_write_that_the_api_server_does_not_take_is_made_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("controllers.account.writing.AGAIN_SECONDS", 0.0)
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.step()
        account.stage.api.refuse = lambda method, path: (
            ApiError(403, "Forbidden", "no") if path.endswith("/status") and method == "PATCH" else None
        )
        await account.pass_time(FIRST_SECONDS)
        assert account.said() is None
        account.stage.api.refuse = lambda _method, _path: None
        await account.step()
        assert account.said() is not None


async def test_a_plan_that_is_gone_needs_no_write() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        await account.step()
        account.stage.api.of(PLANS).clear()
        await account.pass_time(FIRST_SECONDS)
        assert account.acting is not None
        assert not account.acting.writing._waiting


async def test_a_gang_of_the_same_name_is_another_preemptor() -> None:
    async with accounted() as account:
        account.begin()
        account.preempt(0)
        account.event(uid(victim(0)), uid(member(0)), "n0")
        account.stage.delete(gang(minimum=2))
        new = gang(minimum=2)
        new = msgspec.structs.replace(new, metadata=msgspec.structs.replace(new.metadata, uid="another"))
        account.stage.add(new)
        await account.step()
        await account.pass_time(LATE_SECONDS)
        said = account.said()
        assert said is not None
        assert (said.concluded, said.bound, said.served_nobody) == (True, False, 1)


async def test_whose_only_victim_was_for_another_preemptor_is_forgotten() -> None:
    """A nomination spoke for it, until the event named the other one."""
    first = pod("first", nominated="n5", requests=BIG, priority=100)
    second = pod("second", requests=BIG, priority=100)
    async with accounted(node("n5"), victim(5), second) as account:
        acting = account.begin().acting
        assert acting is not None
        account.stage.add(first)
        account.preempt(5)
        await account.pass_time(LATE_SECONDS + 1.0)
        assert acting._ledger.has(uid(first))
        account.event(uid(victim(5)), uid(second), "n5")
        await account.step()
        assert not acting._ledger.has(uid(first))
        assert uid(first) not in {owner.uid for owners in acting._owners.values() for owner in owners}
        assert uid(second) in {owner.uid for owners in acting._owners.values() for owner in owners}
