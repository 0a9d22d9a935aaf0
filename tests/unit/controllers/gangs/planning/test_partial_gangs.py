"""Gangs in pieces, from the look at them to the last eviction, on an API server that is a few dictionaries."""

from __future__ import annotations

from typing import Any

import pytest

from api.groups import SCHEDULED
from controllers.gangs.lifecycle.settings import RELEASE_SECONDS
from kube.errors import ApiError
from runtime.mirror.resources import PODS
from tests.kit.eviction_stage import conditions, events, impatient
from tests.kit.objects import budget, gang, node
from tests.kit.stage import Stage
from tests.unit.controllers.gangs.pieces_stage import (
    JOBS,
    OURS,
    in_pieces,
    kept,
    manager_of,
    member,
    released,
    says,
    wait,
)

__all__ = ["impatient"]


async def test_the_bound_members_go_by_a_plan_that_says_so() -> None:
    async with in_pieces() as stage:
        await wait(stage, 119.0)
        assert released(stage) == []
        marks: dict[str, str] = {}
        echo = stage.api.echo

        def note(name: str) -> None:
            echo(name)
            for each in stage.api.of(PODS.path)[name]["status"].get("conditions") or ():
                if each["type"] == "DisruptionTarget":
                    marks[name] = each["reason"]

        stage.api.echo = note
        await wait(stage, 2.0)
        assert released(stage) == ["m0", "m1", "m2"]
        assert marks == dict.fromkeys(["m0", "m1", "m2"], "PartialGangReleased")
        (plan,) = [each for each in stage.api.plans.values() if each["spec"]["outcome"] == "Releases"]
        assert plan["status"]["phase"] == "Released"
        assert not plan["metadata"].get("finalizers")
        assert plan["spec"]["placements"] == []
        assert [each["name"] for each in plan["spec"]["victims"][0]["pods"]] == ["m0", "m1", "m2"]
        assert len(events(stage, "PartialGangReleased")) == 4
        assert stage.reserved == 0


async def test_at_most_once_in_half_an_hour() -> None:
    async with in_pieces() as stage:
        await wait(stage)
        assert released(stage) == ["m0", "m1", "m2"]
        stage.api.deleted.clear()
        for number in range(3):
            stage.delete(member(stage, f"m{number}"))
        stage.add(*(member(stage, f"r{number}", f"n{number}") for number in range(3)))
        await wait(stage)
        assert "less than 30 minutes ago" in kept(stage)
        await wait(stage, RELEASE_SECONDS)
        assert released(stage) == []
        stage.filter(member(stage, "m3"), "n0")
        await wait(stage, 301.0)
        assert released(stage) == ["r0", "r1", "r2"]


async def test_a_gang_that_has_only_gathered_before_we_went_is_released() -> None:
    """No decision was made before, so only our own condition says that it waits."""
    async with in_pieces() as stage:
        says(stage, 150.0, manager_of(SCHEDULED), SCHEDULED)
        await wait(stage)
        assert released(stage) == ["m0", "m1", "m2"]


@pytest.mark.parametrize(
    ("manager", "since", "why"),
    [
        ({**OURS, "manager": "kubectl"}, 150.0, "has never said"),
        ({**OURS, "operation": "Update"}, 150.0, "has never said"),
        ({**OURS, "fieldsV1": {}}, 150.0, "has never said"),
        (OURS, 90.0, "pod m0 was bound before reprieve said"),
    ],
)
async def test_a_gang_that_we_did_not_hold_is_kept(manager: dict[str, Any], since: float, why: str) -> None:
    async with in_pieces() as stage:
        says(stage, since, manager)
        await wait(stage)
        assert why in kept(stage)
        await wait(stage, 600.0)
        assert why in kept(stage)


async def test_a_budget_keeps_the_members() -> None:
    async with in_pieces(
        budget("web", selector={"matchLabels": {"app": "x"}}, allowed=2), labels={"app": "x"}
    ) as stage:
        await wait(stage)
        assert "PodDisruptionBudget web" in kept(stage)


async def test_members_without_a_controller_stay() -> None:
    async with in_pieces(controller=None) as stage:
        await wait(stage)
        assert "has no controller" in kept(stage)


@pytest.mark.parametrize(("failed", "goes"), [(3, True), (4, False)])
async def test_a_job_that_would_fail_keeps_its_pods(failed: int, goes: bool) -> None:
    async with in_pieces() as stage:
        owned_by_a_job(stage)
        stage.api.put(JOBS, {"metadata": {"name": "job", "uid": "uid-job"}, "status": {"failed": failed}})
        await wait(stage)
        if goes:
            assert released(stage) == ["m0", "m1", "m2"]
        else:
            assert "bears 6 failed pods, and has 4 already" in kept(stage)


async def test_a_job_that_is_gone_keeps_its_pods() -> None:
    async with in_pieces() as stage:
        owned_by_a_job(stage)
        await wait(stage)
        assert "Job job is gone" in kept(stage)


def owned_by_a_job(stage: Stage) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "uid-job", "controller": True}
    for stored in stage.api.of(PODS.path).values():
        stored["metadata"]["ownerReferences"] = [owner]


async def test_an_api_server_that_does_not_answer_is_asked_again_later() -> None:
    async with in_pieces() as stage:
        await stage.settle()
        stage.api.refuse = lambda method, path: (
            ApiError(503, "ServiceUnavailable", path) if method == "GET" else None
        )
        await wait(stage)
        assert released(stage) == []
        assert events(stage, "PartialGangKept") == []
        stage.api.refuse = lambda _method, _path: None
        await wait(stage, 10.0)
        assert released(stage) == ["m0", "m1", "m2"]


async def test_the_next_process_finishes_a_release() -> None:
    async with in_pieces() as stage:
        stage.api.refuse = lambda method, path: (
            ApiError(503, "ServiceUnavailable", path)
            if method == "DELETE" and not path.endswith("m0")
            else None
        )
        await wait(stage)
        assert released(stage) == ["m0"]
        pods = [member(stage, name, f"n{name[1]}") for name in ("m1", "m2")]
        await stage.close()
        stage.api.refuse = lambda _method, _path: None
        following = stage.restart()
        following.add(*(node(f"n{number}", cpu="1") for number in range(3)), gang(minimum=4), *pods)
        following.add(member(following, "m3"))
        await following.settle()
        await following.settle()
        assert released(following) == ["m0", "m1", "m2"]
        await following.close()


async def test_a_gang_that_has_run_meanwhile_stays() -> None:
    async with in_pieces() as stage:
        await stage.settle()
        stage.add(node("n3", cpu="1"), member(stage, "m3", "n3"))
        await wait(stage)
        stage.delete(member(stage, "m3"))
        await wait(stage, 400.0)
        assert released(stage) == []
        assert "DisruptionTarget" not in conditions(stage, "m0")
