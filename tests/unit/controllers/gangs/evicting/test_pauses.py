"""While reprieve is paused nobody is evicted: not for a new plan, and not within a unit that has begun."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.published import NAMESPACE
from api.times import rfc3339
from kube.errors import ApiError
from runtime.exchange.queued_groups import Stop
from tests.kit.eviction_stage import (
    BIG,
    Requests,
    away,
    hero,
    impatient,
    marked,
    refuse,
    singles,
    the_plan,
    unit,
)
from tests.kit.examples import examples
from tests.kit.objects import gang, node, pod
from tests.kit.paused import pause, pause_after, pause_at_mark, resume
from tests.kit.stage import Stage, staged
from tests.unit.controllers.gangs.pieces_stage import in_pieces, kept, released, wait
from tests.unit.controllers.gangs.steered_stage import MEMBERS, hand_over, plan_of, steering, victim
from tests.unit.controllers.gangs.steered_stage import marked as scheduler_marked

__all__ = ["impatient"]

PLAN_SECONDS = 300.0
MANY = 40
"""More pods than are evicted at a time."""


async def later(stage: Stage, seconds: float = 2.0) -> None:
    stage.clock += seconds
    await stage.settle()


def leave(stage: Stage) -> None:
    """What was deleted is gone."""
    stage.delete(*(pod(name) for name in stage.api.deleted))


@asynccontextmanager
async def in_the_middle(*objects: object, deletions: int = 1) -> AsyncIterator[Stage]:
    """A stage whose pause has stopped a plan after some deletions."""
    async with staged(*objects) as stage:
        pause_after(stage, deletions)
        await stage.settle()
        assert len(stage.api.deleted) > 0
        yield stage


async def test_no_plan_that_evicts_is_committed_while_reprieve_is_paused_and_the_group_says_why() -> None:
    async with staged(*unit(2), *hero()) as stage:
        pause(stage, why="storage is moved")
        await stage.settle()
        await later(stage)
        assert stage.api.plans == {}
        assert stage.api.reasons["gang"] == "Paused"
        assert stage.api.waits["gang"][-1] == ("Paused", "evictions are paused: storage is moved")
        await later(stage, 1000.0)
        assert stage.api.plans == {}
        resume(stage)
        await later(stage)
        assert sorted(stage.api.deleted) == ["u0", "u1"]


async def test_a_plan_without_victims_goes_on() -> None:
    async with staged(*unit(1), node("free"), *hero()) as stage:
        pause(stage)
        await stage.settle()
        assert stage.phases() == ["Ready"]


async def test_a_gang_that_is_paused_takes_room_that_becomes_free() -> None:
    async with staged(*unit(1), *hero()) as stage:
        pause(stage)
        await stage.settle()
        stage.add(node("free"))
        await later(stage)
        assert stage.phases() == ["Ready"]
        assert stage.api.deleted == []


async def test_who_was_decided_about_during_a_pause_that_nobody_else_has_seen_is_decided_anew() -> None:
    async with staged(*unit(1)) as stage:
        await stage.settle()
        pause(stage)
        stage.add(*hero())
        await stage.settle()
        assert stage.api.plans == {}
        resume(stage)
        await later(stage)
        assert stage.api.deleted == ["u0"]


async def test_time_ends_a_pause() -> None:
    async with staged(*unit(1), *hero()) as stage:
        pause(stage, until=rfc3339(stage.api.clock.wall() + 100))
        await stage.settle()
        await later(stage, 90.0)
        assert stage.api.deleted == []
        await later(stage, 20.0)
        assert stage.api.deleted == ["u0"]


async def test_a_pause_whose_end_cannot_be_read_has_none() -> None:
    async with staged(*unit(1), *hero()) as stage:
        pause(stage, until="tomorrow")
        await stage.settle()
        await later(stage, 1e6)
        assert stage.api.plans == {}


@pytest.mark.parametrize(
    ("namespace", "said"),
    [
        ("default", "evictions in namespace default are paused: upgrade"),
        ("secret", "evictions in the namespace of a victim are paused"),
        (NAMESPACE, "evictions are paused: upgrade"),
        ("other", ""),
    ],
)
async def test_a_namespace_is_paused_for_its_preemptors_and_its_victims(namespace: str, said: str) -> None:
    """The preemptor's PodGroup does not name the namespace of others."""
    victim = pod("v0", namespace="secret", node="n0", requests=BIG, priority=1)
    async with staged(node("n0"), victim, *hero()) as stage:
        pause(stage, namespace)
        await stage.settle()
        await later(stage)
        assert stage.api.deleted == ([] if said else ["v0"])
        if said:
            assert stage.api.waits["gang"][-1] == ("Paused", said)


async def test_a_plan_that_has_evicted_nobody_ends_and_gives_its_room_back() -> None:
    async with staged(*unit(1), *hero()) as stage:
        stage.agrees = False
        await stage.settle()
        assert (stage.phases(), stage.reserved) == (["Planned"], 1)
        pause(stage)
        await later(stage)
        assert (stage.phases(), stage.reserved) == (["Aborted"], 0)
        assert the_plan(stage)["status"]["conditions"][-1]["reason"] == "Paused"
        assert stage.api.waits["gang"][-1][0] == "Paused"
        stage.agrees = True
        resume(stage)
        await later(stage)
        assert stage.api.deleted == ["u0"]


async def test_no_pod_of_a_begun_unit_is_deleted_while_paused_and_the_unit_is_finished_first() -> None:
    alone = [node(f"n{MANY}"), pod(f"v{MANY}", node=f"n{MANY}", requests=BIG, priority=1)]
    async with in_the_middle(*unit(MANY), *alone, *hero(MANY + 1)) as stage:
        deleted = set(stage.api.deleted)
        assert len(deleted) < MANY
        leave(stage)
        await later(stage)
        await later(stage, 10 * PLAN_SECONDS)
        assert set(stage.api.deleted) == deleted, "the deadline stands still, and so do deletions"
        assert (stage.phases(), stage.reserved) == (["Evicting"], 1)
        assert stage.api.waits["gang"][-1][0] == "Paused"
        requests = Requests(stage)
        resume(stage)
        await later(stage)
        left = {f"u{number}" for number in range(MANY)} - deleted
        assert set(requests.names("DELETE")[: len(left)]) == left
        leave(stage)
        await later(stage)
        assert sorted(set(stage.api.deleted)) == sorted(
            {f"u{number}" for number in range(MANY)} | {f"v{MANY}"}
        )
        assert reason_of(stage, 0) == "Paused"


def reason_of(stage: Stage, number: int) -> str:
    """How the plan ended that was stored as this one."""
    reason: str = list(stage.api.plans.values())[number]["status"]["conditions"][-1]["reason"]
    return reason


async def test_after_the_pause_single_pods_are_evicted_by_a_new_decision_only() -> None:
    everybody = {f"v{number}" for number in range(MANY)}
    async with in_the_middle(*singles(MANY), *hero(MANY)) as stage:
        first = set(stage.api.deleted)
        assert 0 < len(first) < MANY
        await later(stage)
        assert set(marked(stage)) <= first, "the others are no victims for now"
        leave(stage)
        resume(stage)
        await later(stage)
        assert reason_of(stage, 0) == "Paused"
        _, new = stage.api.plans.values()
        evicted = {each["name"] for victim in new["spec"]["victims"] for each in victim["pods"]}
        assert evicted == everybody - first
        assert set(stage.api.deleted) == everybody


async def test_a_pause_that_is_shorter_than_a_look_has_the_gang_decided_anew_too() -> None:
    """The evictor has seen it, and the planner has not."""
    async with in_the_middle(*singles(MANY), *hero(MANY)) as stage:
        (gang,) = stage.leading.gangs
        assert gang.life.plan is not None
        assert gang.life.plan.paused_since is not None
        leave(stage)
        resume(stage)
        await later(stage)
        assert reason_of(stage, 0) == "Paused"


@pytest.mark.usefixtures("impatient")
async def test_a_deletion_is_not_tried_again_while_paused() -> None:
    """Writes are tried again for a while when the API server is away."""
    async with staged(*unit(1), *hero()) as stage:
        refused = refuse(stage, "DELETE", away)
        inner = stage.api.refuse

        def answer(method: str, path: str) -> ApiError | None:
            error = inner(method, path)
            if error is not None:
                pause(stage)
            return error

        stage.api.refuse = answer
        await stage.settle(steps=40)
        assert refused == ["u0"]
        assert marked(stage) == []


async def test_a_pod_that_is_marked_when_the_pause_begins_is_not_deleted_and_loses_its_mark() -> None:
    async with staged(*singles(1), *hero()) as stage:
        pause_at_mark(stage, 1)
        await stage.settle()
        await later(stage)
        assert (stage.api.deleted, marked(stage)) == ([], [])


async def test_a_unit_that_is_marked_in_part_when_the_pause_begins_loses_its_marks_and_one_in_pieces_does_not() -> (
    None
):
    units = [*unit(MANY), *unit(MANY, name="other", first=MANY)]
    async with staged(*units, *hero(2 * MANY)) as stage:
        pause_at_mark(stage, MANY + 3)
        await stage.settle(steps=20)
        await later(stage)
        begun = {int(name[1:]) // MANY for name in stage.api.deleted}
        assert len(begun) == 1
        assert {int(name[1:]) // MANY for name in marked(stage)} <= begun


async def test_a_plan_whose_victims_have_all_been_asked_to_leave_goes_on_and_its_deadline_stands_still() -> (
    None
):
    async with staged(*unit(1), *hero()) as stage:
        await stage.settle()
        assert stage.api.deleted == ["u0"]
        pause(stage)
        await later(stage)
        await later(stage, 3 * PLAN_SECONDS)
        assert stage.phases() == ["Evicting"]
        resume(stage)
        await later(stage, PLAN_SECONDS / 2)
        assert stage.phases() == ["Evicting"]
        leave(stage)
        await later(stage)
        await later(stage)
        assert stage.phases() == ["Ready"]


async def test_a_new_leader_sees_the_pause_and_goes_on_after_it() -> None:
    async with in_the_middle(*unit(MANY), *hero(MANY)) as stage:
        deleted = sorted(stage.api.deleted)
        leave(stage)
        await stage.close()
        other = stage.restart()
        other.add(*unit(MANY), *hero(MANY))
        for name in deleted:
            other.delete(pod(name))
        pause(other)
        await other.settle()
        await later(other, 5 * PLAN_SECONDS)
        assert sorted(other.api.deleted) == deleted
        assert (other.phases(), other.reserved) == (["Evicting"], 1)
        resume(other)
        await later(other)
        assert sorted(set(other.api.deleted)) == sorted(f"u{number}" for number in range(MANY))
        await other.close()


async def test_a_new_leader_gives_a_paused_plan_all_of_its_time_again() -> None:
    async with staged(*unit(1), *hero()) as stage:
        await stage.settle()
        leave(stage)
        await later(stage)
        assert stage.phases() == ["Ready"]
        await stage.close()
        stage.clock += 5 * PLAN_SECONDS
        other = stage.restart()
        other.add(node("n0"), *hero())
        pause(other)
        await other.settle()
        await later(other)
        resume(other)
        await later(other)
        assert other.phases() == ["Ready"]
        await other.close()


async def test_a_gang_that_never_ran_whole_is_released_after_the_pause_only() -> None:
    async with in_pieces() as stage:
        pause(stage)
        await wait(stage)
        assert kept(stage).endswith(": evictions are paused: upgrade")
        resume(stage)
        await wait(stage, 301.0)
        assert released(stage) == ["m0", "m1", "m2"]


async def test_a_gang_that_has_lost_its_quota_runs_until_the_pause_is_over() -> None:
    running = (pod(f"u{number}", group="gang", node=f"n{number}", requests=BIG) for number in range(2))
    async with staged(gang(minimum=2), node("n0"), node("n1"), *running) as stage:
        pause(stage, "default")
        stage.controller.quota.groups.stop(("default", "gang"), Stop("uid-gang", "evicted"))
        await stage.settle()
        await later(stage, 1000.0)
        assert (stage.api.deleted, stage.api.plans) == ([], {})
        resume(stage, "default")
        await later(stage)
        assert sorted(stage.api.deleted) == ["u0", "u1"]


# ---- gangs of kube-scheduler's own kind


async def test_members_of_a_steered_gang_are_offered_no_node_from_the_very_call_after_the_pause_began() -> (
    None
):
    async with steering(*MEMBERS) as stage:
        pause(stage)
        assert [stage.filter(each, "n0", "n1") for each in MEMBERS] == [[], []], (
            "the planner has not looked yet"
        )
        await later(stage)
        assert stage.phases() == ["Aborted"]
        assert [stage.filter(each, "n0", "n1") for each in MEMBERS] == [[], []]
        resume(stage)
        await later(stage)
        await hand_over(stage)


async def test_a_steered_plan_that_was_handed_over_stands_until_its_pass_is_over_and_makes_no_more_offers() -> (
    None
):
    async with steering(*MEMBERS) as stage:
        await hand_over(stage)
        pause(stage)
        await later(stage)
        assert stage.phases() == ["Planned"]
        assert plan_of(stage).given_up
        assert stage.filter(MEMBERS[0], "n0", "n1") == []
        await later(stage)
        assert stage.phases() == ["Aborted"]


async def test_what_the_scheduler_has_begun_for_its_own_gang_goes_on() -> None:
    async with steering(*MEMBERS) as stage:
        await hand_over(stage)
        pause(stage)
        stage.add(scheduler_marked(victim(0)), scheduler_marked(victim(1)))
        await later(stage)
        stage.delete(victim(0), victim(1))
        await later(stage)
        assert stage.phases() == ["Ready"]
        assert stage.filter(MEMBERS[0], "n0", "n1") != []


# ---- groups that are finished, whenever the pause comes


@settings(max_examples=examples(25), deadline=None)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    after=st.integers(0, 30),
    again=st.integers(0, 10),
)
def test_whenever_pauses_come_no_unit_stays_in_pieces_and_nobody_leaves_meanwhile(
    sizes: list[int], after: int, again: int
) -> None:
    """A second pause comes while what the first one has left is finished."""
    asyncio.run(_pauses_come(sizes, after, again))


async def _pauses_come(sizes: list[int], after: int, again: int) -> None:
    objects, units, first = list[object](), list[set[str]](), 0
    for number, size in enumerate(sizes):
        objects += unit(size, name=f"unit-{number}", first=first)
        units.append({f"u{each}" for each in range(first, first + size)})
        first += size
    async with staged(*objects, *hero(first)) as stage:
        stage.compares = False
        for deletions in (after, again):
            pause_after(stage, len(stage.api.deleted) + deletions)
            await later(stage)
            stage.api.refuse = lambda _method, _path: None
            pause(stage)
            await later(stage)
            there = set(stage.api.deleted)
            leave(stage)
            await later(stage, 2 * PLAN_SECONDS)
            assert set(stage.api.deleted) == there, "nobody leaves while it is paused"
            in_pieces = set[str]().union(*(each - there for each in units if each & there))
            requests = Requests(stage)
            resume(stage)
            for _ in range(3):
                await later(stage)
            sent = requests.names("DELETE")
            assert set(sent[: len(in_pieces)]) == in_pieces, "they are finished first"
        leave(stage)
        for _ in range(3):
            await later(stage)
            leave(stage)
        assert set(stage.api.deleted) == set().union(*units)
