"""A later term: what it does with the marks, plans and late writes of earlier ones."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import Pod
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.mirror.marked_pods import MarkedPods, Signature
from kube.errors import ApiError
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
from tests.kit.objects import gang, make, node, pod
from tests.kit.stage import Stage, staged

__all__ = ["impatient"]

PODS = "/api/v1/pods"


def condition(message: str, reason: str = "PreemptionByScheduler", status: str = "True") -> dict[str, Any]:
    return {"type": "DisruptionTarget", "status": status, "reason": reason, "message": message}


def said(stage: Stage, name: str) -> str:
    """The message of the pod's mark."""
    conditions = stage.api.of(PODS)[name].get("status", {}).get("conditions") or ()
    return next((each["message"] for each in conditions if each["type"] == "DisruptionTarget"), "")


def after(stage: Stage, *objects: Any) -> Stage:
    """A later term of another process, that sees what is left, and these objects."""
    stage.api.refuse = lambda _method, _path: None
    again = stage.restart()
    again.add(*(make(Pod, each) for each in list(stage.api.of(PODS).values())), *objects)
    return again


async def stopped_after_marks(stage: Stage) -> None:
    """The first term has marked, and deleted nobody."""
    refuse(stage, "DELETE", away)
    await stage.settle()
    assert stage.api.deleted == []
    assert marked(stage) != []
    await stage.leading.evictions.close()


# ---- marks


@pytest.mark.parametrize(
    ("written", "signature"),
    [
        (condition("PodGroup d/g preempts this pod [term 7 of host_a-b]"), Signature(7, "host_a-b")),
        (condition("the gang never ran whole [term 1 of a]", "PartialGangReleased"), Signature(1, "a")),
        (condition("the gang has lost its quota [term 1 of a]", "QuotaWithdrawn"), Signature(1, "a")),
        (condition("PodGroup d/g preempts this pod"), None),
        (condition("kube-scheduler: preempting to accommodate a higher priority pod"), None),
        (condition("x [term 7 of a]", "EvictionByEvictionAPI"), None),
        (condition("x [term 7 of a]", status="False"), None),
    ],
)
def test_which_conditions_are_marks_of_ours(written: dict[str, Any], signature: Signature | None) -> None:
    marks = MarkedPods()
    running = pod("p", node="n0", version=5, conditions=[written])
    marks.pod_changed("uid", running)
    mark = marks.find("uid")
    assert (mark.signature if mark is not None else None) == signature
    marks.pod_changed("uid", pod("p", node="n0", deleting=True, conditions=[written]))
    assert marks.find("uid") is None


@pytest.mark.usefixtures("impatient")
async def test_a_late_delete_of_an_earlier_term_fails_once_a_later_one_has_marked_the_pod() -> None:
    async with staged(*singles(2), *hero(2)) as stage:
        requests = Requests(stage)
        await stopped_after_marks(stage)
        (name,) = marked(stage)
        late = next(body for method, _, body in requests.sent if method == "DELETE")
        assert said(stage, name).endswith("[term 1 of stage]")
        again = after(stage, node("n0"), node("n1"), *hero(2))
        refuse(again, "DELETE", away)
        await again.settle()
        assert said(again, name).endswith("[term 2 of stage]")
        again.api.refuse = lambda _method, _path: None
        with pytest.raises(ApiError, match="409"):
            await stage.api.request("DELETE", f"{PODS}/{name}", body=msgspec.json.encode(late))
        await again.settle()
        assert sorted(again.api.deleted) == ["v0", "v1"]
        await again.close()


@pytest.mark.usefixtures("impatient")
async def test_all_marks_of_an_earlier_term_are_replaced_before_the_first_eviction() -> None:
    async with staged(*singles(4), *hero(4)) as stage:
        stage.api.refuse = lambda method, _path: away() if method == "DELETE" and stage.api.deleted else None
        await stage.settle()
        await stage.leading.evictions.close()
        names = marked(stage)
        assert len(names) == 3
        again = after(stage, *(node(f"n{number}") for number in range(4)), *hero(4))
        refuse(again, "DELETE", away)
        await again.settle()
        assert {said(again, name).partition(" [")[2] for name in names} == {"term 2 of stage]"}
        await again.close()


@pytest.mark.usefixtures("impatient")
async def test_a_late_delete_of_an_earlier_term_fails_once_a_later_one_has_released_the_pod() -> None:
    async with staged(*singles(1), *hero()) as stage:
        requests = Requests(stage)
        await stopped_after_marks(stage)
        late = next(body for method, _, body in requests.sent if method == "DELETE")
        again = after(stage, node("n0"))
        await again.settle()
        assert marked(again) == []
        with pytest.raises(ApiError, match="409"):
            await stage.api.request("DELETE", f"{PODS}/v0", body=msgspec.json.encode(late))
        assert again.api.deleted == []
        await again.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("when", ["at the start", "later"])
async def test_a_mark_of_which_no_plan_is_known_is_withdrawn(when: str) -> None:
    ours, theirs = condition("x preempts this pod [term 1 of gone]"), condition("kube-scheduler: preempting")
    stray = pod("v0", node="n0", requests=BIG, priority=1, conditions=[ours])
    other = pod("v1", node="n1", requests=BIG, priority=1, conditions=[theirs])
    async with staged(node("n0"), node("n1"), other) as stage:
        if when == "later":
            await stage.settle()
        stage.add(stray)
        refused = refuse(stage, "PATCH", away, times=2)
        await stage.settle()
        assert refused == ["v0", "v0"]
        assert marked(stage) == ["v1"]


@pytest.mark.usefixtures("impatient")
async def test_a_late_mark_of_an_earlier_term_on_a_victim_is_no_stray() -> None:
    async with staged(*singles(1), *hero()) as stage:
        refuse(stage, "DELETE", away)
        await stage.settle()
        late = condition("PodGroup default/gang preempts this pod [term 0 of gone]")
        stage.add(pod("v0", node="n0", requests=BIG, priority=1, conditions=[late]))
        await stage.leading.strays.step()
        assert marked(stage) == ["v0"]
        stage.api.refuse = lambda _method, _path: None
        await stage.settle()
        assert stage.api.deleted == ["v0"]


# ---- plans that somebody else wrote


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("priority", [100, 2000])
async def test_a_plan_with_a_victim_that_is_gone_is_compared_before_it_evicts(priority: int) -> None:
    """The victim that is there has a higher priority than the gang, whatever the plan says of both."""
    async with staged(*singles(1), *hero()) as stage:
        refuse(stage, "PATCH", away, "v0")
        await stage.settle()
        plan = the_plan(stage)
        assert plan["status"]["phase"] == "Evicting"
        (real,) = plan["spec"]["victims"]
        gone = {"namespace": "default", "name": "gone", "uid": "uid-gone", "node": "n0"}
        plan["spec"]["victims"].append({**real, "name": "gone", "uid": "uid-gone", "pods": [gone]})
        plan["spec"]["preemptor"]["priority"] = priority
        again = after(stage, node("n0"), *hero(), pod("v0", node="n0", requests=BIG, priority=1000))
        await again.settle()
        assert again.api.deleted == []
        assert plan["status"]["phase"] == "Aborted"
        assert marked(again) == []
        await again.close()


@pytest.mark.usefixtures("impatient")
async def test_a_plan_with_a_victim_that_is_gone_evicts_nobody_who_is_not_where_it_says() -> None:
    async with staged(*singles(1), *hero()) as stage:
        refuse(stage, "PATCH", away, "v0")
        await stage.settle()
        plan = the_plan(stage)
        (real,) = plan["spec"]["victims"]
        gone = {"namespace": "default", "name": "gone", "uid": "uid-gone", "node": "n0"}
        plan["spec"]["victims"].append({**real, "name": "gone", "uid": "uid-gone", "pods": [gone]})
        real["pods"][0]["node"] = "elsewhere"
        again = after(stage, node("n0"), *hero())
        await again.settle(steps=2)
        assert again.api.deleted == []
        assert plan["status"]["phase"] == "Aborted"
        assert "is not running on elsewhere" in plan["status"]["conditions"][-1]["message"]
        await again.close()


@pytest.mark.usefixtures("impatient")
async def test_a_plan_of_an_earlier_term_goes_on_although_victims_have_gone() -> None:
    async with staged(*singles(3), *hero(3)) as stage:
        refuse(stage, "DELETE", away, "v1", "v2")
        await stage.settle()
        await stage.leading.evictions.close()
        gone = list(stage.api.deleted)
        again = after(stage, *(node(f"n{number}") for number in range(3)), *hero(3))
        await again.settle()
        assert sorted(again.api.deleted) == ["v0", "v1", "v2"]
        assert len(gone) < 3
        assert again.phases() == ["Evicting"], "the watch does not show yet that they are gone"
        await again.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("phase", ["Evicting", "Aborted"])
@pytest.mark.parametrize("preemptor_is_there", [True, False])
async def test_a_unit_that_is_said_to_be_begun_is_not_finished_without_a_mark_of_ours(
    phase: str, preemptor_is_there: bool
) -> None:
    async with staged(*unit(2), *hero()) as stage:
        refuse(stage, "PATCH", away, "u0", "u1")
        await stage.settle()
        plan = the_plan(stage)
        gone = {"namespace": "default", "name": "gone", "uid": "uid-gone", "node": "n0"}
        plan["spec"]["victims"][0]["pods"].append(gone)
        plan["spec"]["preemptor"]["priority"] = 2000
        plan["status"] |= {"phase": phase, "begun": ["uid-unit"]}
        plan["status"]["conditions"].append(
            {"type": "Evicting", "status": "True", "reason": "Evicting", "message": ""}
        )
        plan["metadata"]["finalizers"] = ["reprieve.dev/active-plan"]
        raised = [gang("unit", minimum=2, mode="all", priority=1000), node("n0"), node("n1")]
        again = after(stage, *raised, *(hero() if preemptor_is_there else []))
        await again.settle()
        assert [name for name in again.api.deleted if name in ("u0", "u1")] == []
        await again.close()


async def test_a_plan_that_says_it_was_made_in_the_future_has_no_more_time_than_another_one() -> None:
    """Whoever wrote it, or a clock that was ahead, would keep its room from others for years."""
    async with staged(node("n0"), *hero()) as stage:
        await stage.settle()
        plan = the_plan(stage)
        assert plan["status"]["phase"] == "Ready"
        for each in plan["status"]["conditions"]:
            each["lastTransitionTime"] = "2099-01-01T00:00:00Z"
        again = after(stage, node("n0"), *hero())
        await again.settle()
        assert again.reserved == 1
        again.clock += PlanningConfiguration().plan_deadline_seconds + 1
        await again.settle(steps=1)
        assert "Expired" in [each["type"] for each in plan["status"]["conditions"]]
        await again.close()
