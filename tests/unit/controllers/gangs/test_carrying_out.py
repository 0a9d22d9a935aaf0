"""Plans being carried out while the cluster changes: nothing is evicted in vain, and nothing that may not be."""

from __future__ import annotations

from typing import Any

import pytest

from kube.errors import ApiError
from tests.kit.objects import BIG, gang, member, node, pod
from tests.kit.stage import staged


def victim(number: int = 0, **fields: Any) -> Any:
    return pod(f"v{number}", **{"node": f"n{number}", "requests": BIG, "priority": 1, **fields})


def full(nodes: int) -> list[Any]:
    return [each for number in range(nodes) for each in (node(f"n{number}"), victim(number))]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param([gang(minimum=1, priority=0)], id="the gang's priority"),
        pytest.param([gang(minimum=1, preemptionPolicy="Never")], id="the gang's policy"),
        pytest.param(
            [gang("shield", minimum=1, priority=500), victim(group="shield")], id="the victim's priority"
        ),
        pytest.param(
            [gang("whole", minimum=1, mode="all", priority=1), victim(group="whole")], id="its mode"
        ),
        pytest.param([gang(minimum=1, priority=None, priorityClassName="gone")], id="the class"),
        pytest.param([node("n9"), member(9, node="n9")], id="a member bound elsewhere"),
    ],
)
async def test_what_is_no_longer_so_is_not_evicted_for(change: list[Any]) -> None:
    """It changes between the plan's commit and the first eviction."""
    async with staged(*full(2), gang(minimum=1), member(0)) as stage:

        def meanwhile(method: str, path: str) -> ApiError | None:
            if method == "PATCH" and "preemptionplans" in path:
                stage.api.refuse = lambda _method, _path: None
                stage.add(*change)
            return None

        stage.api.refuse = meanwhile
        await stage.settle()
        assert stage.api.deleted == []
        assert stage.phases() == ["Aborted"]


async def test_a_unit_does_not_begin_once_the_gang_runs_elsewhere() -> None:
    """That comes while the unit is stored as begun, and the planner has not looked at it when the answer is there."""
    unit = [victim(number, group="low") for number in range(2)]
    low = gang("low", minimum=2, mode="all", priority=1)
    async with staged(node("n0"), node("n1"), low, *unit, gang(minimum=1), member(0)) as stage:

        def meanwhile(method: str, path: str) -> ApiError | None:
            if method == "PATCH" and "preemptionplans" in path and stage.phases() == ["Evicting"]:
                stage.api.refuse = lambda _method, _path: None
                stage.add(node("n9"), member(0, node="n9"))
            return None

        stage.api.refuse = meanwhile
        await stage.settle()
        assert stage.api.deleted == []
        assert stage.phases() == ["Bound"]
        (plan,) = stage.api.plans.values()
        assert not plan["status"].get("begun")


async def test_fewer_go_once_min_count_is_lowered() -> None:
    async with staged(*full(2), gang(minimum=2), member(0), member(1)) as stage:

        def meanwhile(method: str, path: str) -> ApiError | None:
            if method == "PATCH" and "preemptionplans" in path:
                stage.add(gang(minimum=1))
            return None

        stage.api.refuse = meanwhile
        await stage.settle()
        assert stage.phases() == ["Aborted"]
        stage.clock += 2
        await stage.settle()
        assert len(stage.api.deleted) == 1


@pytest.mark.parametrize("mode", ["single", "all"])
async def test_a_plan_of_a_former_process_is_compared_before_its_first_eviction(mode: str) -> None:
    """Evicting was written, and nobody evicted; meanwhile the victim has got a group."""
    objects = [*full(1), gang(minimum=1), member(0)]
    async with staged(*objects) as stage:
        await stage.settle()
        assert stage.phases() == ["Evicting"]
        stage.api.deleted.clear()
        again = stage.restart()
        priority = 500 if mode == "single" else 1
        again.add(*objects, gang("shield", minimum=1, mode=mode, priority=priority), victim(group="shield"))
        await again.settle()
        assert again.api.deleted == []
        assert again.phases() == ["Aborted"]


async def test_a_plan_ends_when_bound_members_are_lost() -> None:
    """Two run, and room is made for the third; then somebody takes the two."""
    two = [member(0, node="n1"), member(1, node="n2")]
    async with staged(*full(1), node("n1"), node("n2"), *two, gang(minimum=3), member(2)) as stage:
        await stage.settle()
        assert stage.phases() == ["Evicting"]
        stage.add(member(0, node="n1", deleting=True))
        await stage.settle()
        assert stage.phases() == ["Aborted"]
        assert stage.reserved == 0


async def test_a_victim_that_rises_while_others_go_is_spared() -> None:
    async with staged(*full(2), gang(minimum=2), member(0), member(1)) as stage:

        def first_one_goes(method: str, path: str) -> ApiError | None:
            if method == "DELETE" and not stage.api.deleted:
                stage.add(gang("shield", minimum=1, priority=500))
                stage.add(victim(1 if path.endswith("v0") else 0, group="shield"))
            return None

        stage.api.refuse = first_one_goes
        await stage.settle()
        assert len(stage.api.deleted) == 1
        assert "Aborted" in stage.phases()


async def test_a_deletion_that_is_refused_ends_the_plan_and_the_next_one_spares_the_pod() -> None:
    async with staged(*full(2), gang(minimum=1), member(0)) as stage:
        tried: list[str] = []

        def webhook(method: str, path: str) -> ApiError | None:
            if method == "DELETE":
                tried.append(path.rpartition("/")[2])
            return ApiError(403, "Forbidden", "denied") if method == "DELETE" and len(tried) == 1 else None

        stage.api.refuse = webhook
        await stage.settle()
        assert stage.phases() == ["Aborted"]
        assert stage.reserved == 0
        stage.clock += 2
        await stage.settle()
        assert sorted(tried) == ["v0", "v1"]
        assert stage.api.deleted == [tried[1]]


async def test_a_refusal_is_not_believed_for_ever() -> None:
    async with staged(*full(1), gang(minimum=1), member(0)) as stage:
        stage.api.refuse = lambda method, _path: (
            ApiError(403, "Forbidden", "x") if method == "DELETE" else None
        )
        await stage.settle()
        stage.clock += 2
        await stage.settle()
        assert sorted(stage.phases()) == ["Aborted", "Unschedulable"]
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 301
        await stage.settle()
        assert stage.api.deleted == ["v0"]


async def test_nobody_is_evicted_on_a_mirror_that_is_out_of_date() -> None:
    async with staged(*full(1), gang(minimum=1)) as stage:
        await stage.settle()
        stage.silence(1000)
        stage.add(member(0))
        await stage.settle()
        assert stage.phases() == []
        stage.silence(0)
        await stage.settle()
        assert stage.api.deleted == ["v0"]


async def test_a_member_that_comes_later_is_told_why_it_waits_too() -> None:
    async with staged(node("n0", cpu="1"), gang(minimum=1), member(0)) as stage:
        await stage.settle()
        assert list(stage.api.said) == ["m0"]
        stage.add(member(1))
        stage.clock += 2
        await stage.settle()
        assert stage.api.said["m1"] == stage.api.said["m0"]
