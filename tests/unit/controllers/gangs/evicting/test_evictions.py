"""Units that have begun are finished, whatever becomes of their plan or their process; others are left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from api.core import Pod
from controllers.gangs.evicting import preparing
from controllers.gangs.lifecycle.observations import GroupGone
from kube.errors import ApiError
from tests.kit.eviction_stage import (
    away,
    denied,
    events,
    finalized,
    hero,
    impatient,
    marked,
    refuse,
    singles,
    the_plan,
    unit,
)
from tests.kit.objects import gang, make, node, pod
from tests.kit.stage import Stage, staged

__all__ = ["impatient"]

MANY = 20
"""More than go at a time."""


def after_deletions(stage: Stage, count: int, happens: Callable[[], None]) -> None:
    """Have something happen as the deletion of that many pods has been asked for."""
    asked: list[str] = []

    def watch(method: str, path: str) -> ApiError | None:
        if method == "DELETE" and "/pods/" in path:
            asked.append(path)
            if len(asked) == count:
                happens()
        return None

    stage.api.refuse = watch


def left(stage: Stage, *prefixes: str) -> list[str]:
    """Pods that are there, by the first letter of their names."""
    return sorted(name for name in stage.api.of("/api/v1/pods") if name[0] in prefixes)


async def killed(stage: Stage, *, after: int) -> None:
    """Let the process die after `after` deletions of pods."""

    def gone(method: str, _path: str) -> ApiError | None:
        return away() if method in ("PATCH", "DELETE", "POST") else None

    def die() -> None:
        stage.api.refuse = lambda method, path: None if len(stage.api.deleted) < after else gone(method, path)

    die()
    await stage.settle()
    await stage.leading.evictions.close()
    stage.api.refuse = lambda _method, _path: None


def next_process(stage: Stage, *objects: Any) -> Stage:
    """A new process that sees what is left, and these objects."""
    again = stage.restart()
    again.add(*(make(Pod, each) for each in list(stage.api.of("/api/v1/pods").values())), *objects)
    return again


# ---- the plan ends in mid-eviction


def group_goes(stage: Stage) -> None:
    stage.delete(gang(minimum=1))


def member_goes(stage: Stage) -> None:
    stage.delete(pod("m0", group="gang"))


def deadline_passes(stage: Stage) -> None:
    stage.clock += 1000


def node_goes(stage: Stage) -> None:
    for number in range(MANY):
        stage.add(node(f"n{number}", unschedulable=True))


def ends_at_once(stage: Stage) -> None:
    """The gang goes, and the planner sees it before the evictor does anything more."""
    gone = stage.leading.gangs.get(("default", "gang"))
    assert gone is not None
    group_goes(stage)
    stage.leading.gangs.observe(gone, GroupGone())


@pytest.mark.parametrize("ends", [group_goes, member_goes, deadline_passes, node_goes])
async def test_a_unit_that_has_begun_is_finished_when_its_plan_ends(ends: Callable[[Stage], None]) -> None:
    async with staged(*unit(MANY), *hero()) as stage:
        after_deletions(stage, 2, lambda: ends(stage))
        await stage.settle(steps=20)
        assert sorted(stage.api.deleted) == sorted(f"u{number}" for number in range(MANY))
        plan = next(iter(stage.api.plans.values()))
        assert plan["status"]["phase"] in ("Aborted", "Expired")
        assert not finalized(plan)


async def test_no_other_unit_begins_once_the_plan_has_ended() -> None:
    units = [*unit(MANY), *unit(MANY, name="other", first=MANY)]
    async with staged(*units, *hero(2 * MANY)) as stage:
        after_deletions(stage, 2, lambda: ends_at_once(stage))
        await stage.settle(steps=20)
        assert len(stage.api.deleted) == MANY
        assert the_plan(stage)["status"]["begun"] == [], (
            "nobody of the first unit is left, and the other one stays"
        )
        assert marked(stage) == []
        assert not finalized(the_plan(stage))


@pytest.mark.parametrize("at_once", [1, 2, 16])
async def test_a_unit_stays_listed_until_all_its_pods_have_gone(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Also if none of its deletions has been answered when the next unit begins."""
    monkeypatch.setattr(preparing, "BEGIN_AT_ONCE", at_once)
    units = [each for number in range(4) for each in unit(2, name=f"unit-{number}", first=2 * number)]
    async with staged(*units, *hero(8)) as stage:
        await stage.settle(steps=20)
        assert len(stage.api.deleted) == 8
        listed, left = set[str](), {f"uid-unit-{number}": 2 for number in range(4)}
        for method, path, body in stage.api.written:
            if method == "DELETE" and "/pods/" in path:
                left[f"uid-unit-{int(path[-1]) // 2}"] -= 1
            elif method == "PATCH" and "preemptionplans" in path and "begun" in body["status"]:
                now = set(body["status"]["begun"])
                assert {name for name in listed if left[name]} <= now
                listed = now
        assert listed


async def test_no_unit_begins_if_the_plan_ends_while_its_beginning_is_stored() -> None:
    async with staged(*unit(3), *hero()) as stage:
        ended: list[str] = []

        def ends(method: str, path: str) -> ApiError | None:
            evicting = any(
                each.get("status", {}).get("phase") == "Evicting" for each in stage.api.plans.values()
            )
            if method == "PATCH" and "preemptionplans" in path and evicting and not ended:
                ended.append(path)
                ends_at_once(stage)
            return None

        stage.api.refuse = ends
        await stage.settle()
        assert ended
        assert stage.api.deleted == []
        assert marked(stage) == []
        assert not finalized(the_plan(stage))


async def test_the_finalizer_stays_until_the_unit_is_finished() -> None:
    async with staged(*unit(MANY), *hero()) as stage:
        seen: set[bool] = set()

        def watch(method: str, path: str) -> ApiError | None:
            if method == "DELETE" and "/pods/" in path:
                if len(stage.api.deleted) == 2:
                    group_goes(stage)
                seen.add(finalized(the_plan(stage)))
            return None

        stage.api.refuse = watch
        await stage.settle(steps=20)
        assert seen == {True}
        assert not finalized(the_plan(stage))


@pytest.mark.usefixtures("impatient")
async def test_the_housekeeping_leaves_a_plan_alone_that_is_still_evicting() -> None:
    """Its end is written late, by the housekeeping, while the API server deletes no pod."""
    async with staged(*unit(3), *hero()) as stage:
        is_away = [True]

        def answer(method: str, path: str) -> ApiError | None:
            evicted = bool(stage.api.deleted)
            if method == "DELETE" and evicted and is_away:
                group_goes(stage)
                return away()
            if "preemptionplans" in path and method == "PATCH" and evicted and is_away == [True]:
                return away()
            return None

        stage.api.refuse = answer
        await stage.settle()
        assert the_plan(stage)["status"]["phase"] == "Evicting"
        is_away.append(True)  # plans can be written again, pods cannot be deleted
        for _ in range(3):
            stage.clock += 61
            await stage.settle()
        assert the_plan(stage)["status"]["phase"] == "Aborted"
        assert finalized(the_plan(stage))
        is_away.clear()
        await stage.settle()
        assert left(stage, "u") == []
        assert not finalized(the_plan(stage))


@pytest.mark.usefixtures("impatient")
async def test_a_plan_that_ends_withdraws_the_marks_of_pods_that_stay() -> None:
    async with staged(*singles(3), *hero(3)) as stage:
        refuse(stage, "DELETE", away)
        await stage.settle()
        assert len(marked(stage)) == 1, "the first one goes alone"
        stage.delete(gang(minimum=1))
        await stage.settle()
        assert marked(stage) == []
        assert stage.api.deleted == []
        assert not finalized(the_plan(stage))


@pytest.mark.usefixtures("impatient")
async def test_marks_are_withdrawn_once_the_api_server_answers() -> None:
    async with staged(*singles(1), *hero()) as stage:
        refuse(stage, "DELETE", away)
        await stage.settle()
        refuse(stage, "PATCH", away)
        stage.delete(gang(minimum=1))
        await stage.settle()
        assert marked(stage) == ["v0"]
        assert finalized(the_plan(stage)), "the next process would withdraw it"
        stage.api.refuse = lambda _method, _path: None
        await stage.settle()
        assert marked(stage) == []
        assert not finalized(the_plan(stage))


@pytest.mark.usefixtures("impatient")
async def test_a_unit_stops_although_its_plan_has_ended() -> None:
    async with staged(*unit(3), *hero()) as stage:

        def answer(method: str, path: str) -> ApiError | None:
            if method == "DELETE" and stage.leading.gangs.get(("default", "gang")) is not None:
                ends_at_once(stage)
            return denied() if method == "DELETE" and path.endswith("/u2") else None

        stage.api.refuse = answer
        await stage.settle()
        assert left(stage, "u") == ["u2"]
        assert marked(stage) == []
        assert events(stage, "PreemptionStopped")[0].endswith("; still there: u2")
        assert not finalized(the_plan(stage))


# ---- who lets go of the plan


class Answers:
    """Writes to plans: their conflicts. The answers to those that contain `late` come late."""

    def __init__(self, stage: Stage, *, late: str, then: Callable[[], None] = lambda: None) -> None:
        """`then` happens once such a request has been carried out."""
        self.conflicts: list[str] = []
        self.late = 0
        real = stage.api.request

        async def request(method: str, path: str, **options: Any) -> bytes:
            try:
                answer = await real(method, path, **options)
            except ApiError as error:
                if error.status == 409 and "preemptionplans" in path:
                    self.conflicts.append(f"{method} {path}")
                raise
            if "preemptionplans" in path and late.encode() in (options.get("body") or b""):
                self.late += 1
                then()
                for _ in range(50):
                    await asyncio.sleep(0)
            return answer

        stage.api.request = request  # type: ignore[method-assign]


@pytest.mark.usefixtures("impatient")
async def test_marks_are_withdrawn_while_the_end_is_written_and_nobody_meets_a_conflict() -> None:
    async with staged(*singles(1), *hero()) as stage:
        refuse(stage, "DELETE", away)
        await stage.settle()
        answers = Answers(stage, late='"Aborted"')
        stage.delete(gang(minimum=1))
        await stage.settle()
        assert answers.late == 1
        assert answers.conflicts == []
        assert not finalized(the_plan(stage)), "without a sweep"


async def test_the_finalizer_is_removed_from_a_plan_that_others_have_written_to() -> None:
    """The watch does not show that yet. A finalizer of somebody else stays."""
    async with staged(*singles(1), *hero()) as stage:
        await stage.settle()
        plan = the_plan(stage)
        plan["metadata"]["finalizers"].insert(0, "example.com/theirs")
        answers = Answers(
            stage, late='"Aborted"', then=lambda: plan["metadata"].update(resourceVersion="9999")
        )
        stage.delete(gang(minimum=1))
        await stage.settle()
        assert answers.late == 1
        assert answers.conflicts == []
        assert plan["metadata"]["finalizers"] == ["example.com/theirs"]


async def test_a_plan_that_is_carried_out_is_not_let_go() -> None:
    """The same decision was made again while the evictor still finished what it had begun."""
    async with staged(*singles(1), *hero()) as stage:
        await stage.settle()
        await stage.leading.evictions.store.let_go(("default", the_plan(stage)["metadata"]["name"]))
        assert finalized(the_plan(stage))


# ---- the process ends in mid-eviction


@pytest.mark.usefixtures("impatient")
async def test_the_next_process_finishes_the_units_of_an_active_plan() -> None:
    async with staged(*unit(MANY), *hero()) as stage:
        await killed(stage, after=3)
        assert 3 <= len(stage.api.deleted) < MANY
        again = next_process(stage, *unit(MANY)[:1], *nodes(MANY), gang(minimum=1))
        await again.settle(steps=20)
        assert sorted(again.api.deleted) == sorted(f"u{number}" for number in range(MANY))
        assert the_plan(again)["status"]["phase"] == "Ready"
        await again.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("end_is_stored", [False, True])
async def test_the_next_process_finishes_the_units_of_a_plan_that_has_ended(end_is_stored: bool) -> None:
    """The gang has gone as well."""
    async with staged(*unit(MANY), *hero()) as stage:
        await killed(stage, after=3)
        if end_is_stored:
            the_plan(stage)["status"]["phase"] = "Aborted"
        again = next_process(stage, *unit(MANY)[:1], *nodes(MANY))
        await again.settle(steps=20)
        assert sorted(again.api.deleted) == sorted(f"u{number}" for number in range(MANY))
        assert the_plan(again)["status"]["phase"] == "Aborted"
        assert not finalized(the_plan(again))
        await again.close()


@pytest.mark.usefixtures("impatient")
async def test_a_process_that_dies_before_the_first_pod_of_a_unit_leaves_it_whole_if_the_plan_ends() -> None:
    """The beginning is stored and the first pod is marked. Nobody has gone, so there is nothing to finish."""
    async with staged(*unit(3), *hero()) as stage:
        refuse(stage, "DELETE", away)
        await stage.settle()
        await stage.leading.evictions.close()
        assert the_plan(stage)["status"]["begun"] == ["uid-unit"]
        assert marked(stage) != []
        stage.api.refuse = lambda _method, _path: None
        again = next_process(stage, *unit(3)[:1], *nodes(3))
        await again.settle()
        assert again.api.deleted == []
        assert marked(again) == []
        assert the_plan(again)["status"]["phase"] == "Aborted"
        assert not finalized(the_plan(again))
        await again.close()


@pytest.mark.usefixtures("impatient")
async def test_the_next_process_withdraws_the_marks_of_a_plan_that_has_ended() -> None:
    async with staged(*singles(2), *hero(2)) as stage:
        refuse(stage, "DELETE", away)
        await stage.settle()
        await stage.leading.evictions.close()
        assert len(marked(stage)) == 1
        the_plan(stage)["status"]["phase"] = "Aborted"
        stage.api.refuse = lambda _method, _path: None
        again = next_process(stage, *nodes(2))
        await again.settle()
        assert marked(again) == []
        assert again.api.deleted == []
        assert not finalized(the_plan(again))
        await again.close()


@pytest.mark.usefixtures("impatient")
async def test_the_units_of_an_older_plan_whose_end_was_never_stored_are_finished() -> None:
    async with staged(*unit(MANY), *hero()) as stage:
        await killed(stage, after=3)
        older = the_plan(stage)
        newer = {**older, "metadata": {**older["metadata"], "name": "gang-newer", "finalizers": None}}
        since = {"type": "Aborted", "status": "True", "lastTransitionTime": "2999-01-01T00:00:00Z"}
        newer["status"] = {"phase": "Aborted", "conditions": [{**since, "reason": "Changed", "message": ""}]}
        stage.api.plans["gang-newer"] = newer
        again = next_process(stage, *unit(MANY)[:1], *nodes(MANY))
        await again.settle(steps=20)
        assert left(again, "u") == []
        assert older["status"]["phase"] == "Aborted"
        assert not finalized(older)
        await again.close()


async def test_closing_stops_at_once_wherever_that_is() -> None:
    """The API server does not answer any more."""
    async with staged(*unit(MANY), *hero()) as stage:
        silence, real, asked = asyncio.Event(), stage.api.request, list[str]()

        async def request(method: str, path: str, **options: Any) -> bytes:
            if method == "DELETE" and b"dryRun" not in options["body"]:
                asked.append(path)
            if len(asked) > 2:
                await silence.wait()
            return await real(method, path, **options)

        stage.api.request = request  # type: ignore[method-assign]
        await stage.settle()
        assert len(stage.api.deleted) == 2
        assert stage.leading.evictions.at_work
        await stage.leading.evictions.close()
        await stage.settle(steps=1)
        assert not stage.leading.evictions.at_work
        assert len(stage.api.deleted) == 2


# ---- the same decision, and the same unit, once more


async def test_a_decision_that_is_carried_out_again_has_begun_nothing() -> None:
    """The first deletion is refused, nobody has gone. Five minutes later the same decision is made."""
    async with staged(*unit(2), *hero()) as stage:
        refuse(stage, "DELETE", denied)
        await stage.settle()
        (name,) = stage.api.plans
        assert stage.api.plans[name]["status"]["begun"] == ["uid-unit"]
        seen: list[Any] = []

        def watch(method: str, _path: str) -> ApiError | None:
            if method == "PATCH dry run":
                seen.append(stage.api.plans[name]["status"]["begun"])
            return None

        stage.api.refuse = watch
        stage.clock += 301
        await stage.settle()
        assert seen[0] == []
        assert sorted(stage.api.deleted) == ["u0", "u1"]


async def test_a_unit_that_once_stopped_is_finished_for_a_later_plan() -> None:
    async with staged(*unit(MANY), *hero()) as stage:
        refuse(stage, "DELETE", denied, times=1)
        await stage.settle()
        assert stage.api.deleted == []
        after_deletions(stage, 2, lambda: group_goes(stage))
        stage.clock += 301
        await stage.settle(steps=30)
        assert left(stage, "u") == []


def nodes(count: int) -> list[Any]:
    return [node(f"n{number}") for number in range(count)]
