"""What the gauges of gangs and plans show, and that they show nothing of a term that is over."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import REGISTRY

from tests.kit.objects import GANG, gang, node, pod
from tests.kit.stage import staged

BIG = {"cpu": "4"}


def shown(name: str, **labels: str) -> float:
    """The value of a gauge."""
    value = REGISTRY.get_sample_value(f"reprieve_{name}", labels)
    assert value is not None, name
    return value


def members(count: int, **fields: Any) -> list[Any]:
    return [pod(f"m{number}", group=GANG, requests=BIG, **fields) for number in range(count)]


async def test_phases_are_those_of_the_process_that_leads() -> None:
    async with staged(node("n0"), gang(minimum=2), *members(1)) as stage:
        assert shown("gangs", phase="Gathering") == 0
        await stage.settle()
        assert shown("gangs", phase="Gathering") == 1
        await stage.close()
        assert shown("gangs", phase="Gathering") == 0


async def test_of_a_term_that_is_over_nothing_is_shown_although_nobody_has_noticed() -> None:
    async with staged(node("n0"), gang(minimum=2), *members(1)) as stage:
        await stage.settle()
        stage.leading._term.end()
        assert shown("gangs", phase="Gathering") == 0


async def test_a_gang_in_pieces_is_counted_with_its_age() -> None:
    async with staged(node("n0"), gang(minimum=3), pod("m0", node="n0", group=GANG)) as stage:
        await stage.settle()
        stage.clock += 70
        assert (shown("gangs_in_pieces"), shown("oldest_gang_in_pieces_seconds")) == (1, 70)
        await stage.close()
        assert (shown("gangs_in_pieces"), shown("oldest_gang_in_pieces_seconds")) == (0, 0)


@pytest.mark.parametrize(("caller", "counted"), [(None, 1), ("another", 1), ("default-scheduler", 0)])
async def test_a_gang_with_a_place_whose_scheduler_never_called(caller: str | None, counted: int) -> None:
    async with staged(node("n0", cpu="8"), gang(minimum=2), *members(2)) as stage:
        stage.agrees = False
        await stage.settle()
        if caller is not None:
            stage.filter(pod("other", schedulerName=caller), "n0")
        assert shown("gangs_not_asked_about") == counted
        await stage.close()
        assert shown("gangs_not_asked_about") == 0


async def test_a_gang_without_a_place_is_no_sign_of_a_scheduler_that_does_not_call() -> None:
    async with staged(node("n0", cpu="1"), gang(minimum=2), *members(2)) as stage:
        stage.agrees = False
        await stage.settle()
        assert shown("gangs_not_asked_about") == 0


async def test_a_plan_beyond_its_deadline_is_shown_by_every_process() -> None:
    low = pod("low", node="n0", requests={"cpu": "8"}, terminationGracePeriodSeconds=40)
    async with staged(node("n0", cpu="8"), gang(minimum=2), low, *members(2)) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.phases() == ["Planned"]
        stage.list_plans()
        await stage.close()
        stage.clock += 300 + 30
        assert (
            shown("oldest_plan_overdue_seconds", plane="nodes") == 0
        )  # victims have their grace period besides
        stage.clock += 30
        assert shown("oldest_plan_overdue_seconds", plane="nodes") == 20
        again = stage.restart()
        again.add(low)
        again.list_plans()
        assert shown("oldest_plan_overdue_seconds", plane="nodes") == 20
        next(iter(stage.api.plans.values()))["status"]["phase"] = "Expired"
        again.list_plans()
        assert shown("oldest_plan_overdue_seconds", plane="nodes") == 0
        await again.close()
