"""Plans and the API server: what is resumed after a restart, and what happens when a plan cannot be written."""

from __future__ import annotations

from typing import Any

import pytest

from api.times import rfc3339
from kube.errors import ApiError
from tests.kit.objects import gang, group, node, pod
from tests.kit.stage import Stage, staged

BIG = {"cpu": "4"}


def victim(**fields: Any) -> Any:
    return pod("v", node="n0", requests=BIG, priority=1, **fields)


def hero(**fields: Any) -> Any:
    return pod("m0", group="gang", requests=BIG, **fields)


def one_to_evict() -> list[Any]:
    """A gang of one, and the pod in its way."""
    return [node("n0"), gang(minimum=1), hero(), victim()]


def _to_carry_out(stage: Stage) -> list[str]:
    stored = stage.controller.known.promises.claims.stored
    return [owner[2] for owner in stored.owners() if stored.to_carry_out(owner) is not None]


async def planned(stage: Stage) -> dict[str, Any]:
    await stage.settle()
    (plan,) = stage.api.plans.values()
    return plan


def refuse_statuses(stage: Stage) -> None:
    """Plans can be created, and nothing can be written to their statuses."""

    def refuse(method: str, path: str) -> ApiError | None:
        refused = method == "PATCH" and "/preemptionplans/" in path
        return ApiError(403, "Forbidden", "the term is over") if refused else None

    stage.api.refuse = refuse


async def test_a_blocked_plan_whose_phase_was_never_written_evicts_nobody() -> None:
    objects = [node("n0"), gang(minimum=1), hero(resourceClaims=[{"name": "gpu"}]), victim()]
    async with staged(*objects) as stage:
        plan = await planned(stage)
        assert plan["status"]["phase"] == "Blocked"
        del plan["status"]
        plan["metadata"]["creationTimestamp"] = rfc3339(stage.api.clock.wall())
        again = stage.restart()
        again.add(*objects)
        await again.settle()
        assert again.api.deleted == []
        assert again.phases() == ["Blocked"]


async def test_an_unschedulable_plan_whose_phase_was_never_written_is_not_bound() -> None:
    objects = [node("n0", cpu="1"), gang(minimum=1), hero()]
    async with staged(*objects) as stage:
        plan = await planned(stage)
        del plan["status"]
        plan["metadata"]["creationTimestamp"] = rfc3339(stage.api.clock.wall())
        again = stage.restart()
        again.add(*objects)
        await again.settle()
        assert again.phases() == ["Unschedulable"]


async def test_the_same_decision_made_again_counts_from_its_last_commit() -> None:
    """The object is old (the stage's are of January); its plan is not."""
    async with staged(*one_to_evict()) as stage:
        plan = await planned(stage)
        assert plan["status"]["phase"] == "Evicting"
        again = stage.restart()
        again.add(*one_to_evict())
        await again.settle()
        assert again.phases() == ["Evicting"]


async def test_an_older_plan_is_not_gone_on_from_once_there_is_a_newer_one() -> None:
    """How the older one ended could not be written; the newer one has ended."""
    async with staged(*one_to_evict()) as stage:
        older = await planned(stage)
        stage.api.deleted.clear()
        newer = {**older, "metadata": {**older["metadata"], "name": "gang-newer"}}
        since = {"type": "Aborted", "status": "True", "lastTransitionTime": "2999-01-01T00:00:00Z"}
        newer["status"] = {"phase": "Aborted", "conditions": [{**since, "reason": "Changed", "message": ""}]}
        stage.api.plans["gang-newer"] = newer
        again = stage.restart()
        again.list_plans()
        assert _to_carry_out(again) == []


async def test_a_damaged_plan_does_not_keep_the_others_from_being_gone_on_from() -> None:
    async with staged(*one_to_evict()) as stage:
        plan = await planned(stage)
        damaged = {**plan, "metadata": {**plan["metadata"], "name": "damaged"}}
        preemptor = {**plan["spec"]["preemptor"], "name": "damaged"}
        damaged["spec"] = {**plan["spec"], "preemptor": preemptor, "compressedVictims": "no base64"}
        stage.api.plans["damaged"] = damaged
        again = stage.restart()
        again.add(*one_to_evict())
        await again.settle()
        assert again.controller.leading is not None
        assert again.api.plans[plan["metadata"]["name"]]["status"]["phase"] == "Evicting"


async def test_a_plan_for_another_namespace_is_not_gone_on_from() -> None:
    async with staged(*one_to_evict()) as stage:
        plan = await planned(stage)
        plan["metadata"]["namespace"] = "elsewhere"
        again = stage.restart()
        again.list_plans()
        assert _to_carry_out(again) == []


async def test_a_plan_object_that_is_deleted_ends_its_plan_and_holds_up_nobody() -> None:
    async with staged(*one_to_evict()) as stage:
        plan = await planned(stage)
        del stage.api.plans[plan["metadata"]["name"]]
        stage.add(node("n1", cpu="5"), group("other", minimum=1))
        stage.add(pod("o0", group="other", requests={"cpu": "5"}))
        stage.delete(victim())  # the room is free: Ready is to be written
        await stage.settle()
        other = stage.leading.gangs.get(("default", "other"))
        assert other is not None
        assert other.life.phase == "Ready"
        stage.clock += 2
        await stage.settle()
        assert sorted(stage.phases()) == ["Ready", "Ready"], "planned and written anew"


async def test_a_plan_that_cannot_be_stored_holds_no_room_and_says_so() -> None:
    async with staged(*one_to_evict()) as stage:
        late = pod("late", requests=BIG, priority=5)
        stage.add(late)

        def refuse(method: str, path: str) -> ApiError | None:
            if method != "POST" or "preemptionplans" not in path:
                return None
            stage.filter(late, "n0")
            return ApiError(403, "Forbidden", "the namespace is being terminated")

        stage.api.refuse = refuse
        await stage.settle()
        assert stage.api.deleted == []
        assert stage.filter(late, "n0") == ["n0"]
        assert stage.api.woken == ["late"]
        assert "being terminated" in stage.api.group_said["gang"]


# ---- decisions by which nothing is evicted


@pytest.mark.parametrize(
    ("cpu", "member", "phase", "message"),
    [
        ("1", {}, "Unschedulable", "0 of 1 members fit"),
        ("4", {"resourceClaims": [{"name": "gpu"}]}, "Blocked", "not modelled: "),
    ],
)
async def test_a_new_term_writes_the_phase_that_the_former_one_could_not(
    cpu: str, member: dict[str, Any], phase: str, message: str
) -> None:
    """The former term ended between the two writes. The decision of the new one is another."""
    async with staged(node("n0", cpu=cpu), gang(minimum=1), hero(**member), victim()) as stage:
        refuse_statuses(stage)
        plan = await planned(stage)
        assert "status" not in plan
        stored_at = plan["metadata"]["creationTimestamp"]
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 10
        again = stage.restart()
        again.add(node("n0", cpu=cpu), node("n1", cpu="8"), gang(minimum=1), hero(**member), victim())
        await again.settle()
        status = plan["status"]
        assert status["phase"] == phase
        assert status["lastDecisionTime"] == stored_at, "the later decision stays the newer one"
        (condition,) = status["conditions"]
        assert condition["type"] == condition["reason"] == phase
        assert condition["lastTransitionTime"] == stored_at
        assert condition["message"].startswith(message)
        assert len(again.phases()) == 2


async def test_a_phase_that_could_not_be_written_is_written_later_in_the_same_term() -> None:
    async with staged(node("n0", cpu="1"), gang(minimum=1), hero()) as stage:
        refuse_statuses(stage)
        plan = await planned(stage)
        assert "status" not in plan
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 61
        await stage.settle()
        assert plan["status"]["phase"] == "Unschedulable"


async def test_a_phase_is_written_once() -> None:
    async with staged(node("n0", cpu="1"), gang(minimum=1), hero()) as stage:
        await planned(stage)
        written = [each.path for each in stage.api.written if each.path.endswith("/status")]
        assert len([path for path in written if "preemptionplans" in path]) == 1
