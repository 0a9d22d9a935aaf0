"""Owners that evict each other, and one that is evicted again and again."""

from __future__ import annotations

from typing import Any

import pytest

from api.meta import ObjectMeta
from api.plans import PreemptionPlanStatus
from controllers.gangs.lifecycle.cycles import cycles
from controllers.gangs.lifecycle.stored_plan import StoredPlan
from controllers.gangs.metrics import CYCLES
from tests.kit.objects import gang, node, pod
from tests.kit.stage import staged

BIG = {"cpu": "4"}
SECONDS = 600.0


def evicted(preemptor: str, at: float, *owners: str) -> StoredPlan:
    return StoredPlan(
        meta=ObjectMeta(name=f"{preemptor}-{at}", namespace="team"),
        owner=("PodGroup", "team", preemptor),
        preemptor=preemptor,
        status=PreemptionPlanStatus(phase="Bound", victim_owners=list(owners)),
        finalized=False,
        committed=at,
        touched=at,
        evicting=at,
        bound=at,
        in_vain=None,
        spec=None,
    )


def found(preemptor: str, now: float, *plans: StoredPlan) -> dict[str, Any]:
    def plans_of(uid: str) -> list[StoredPlan]:
        return [plan for plan in plans if plan.preemptor == uid]

    return {owner: tuple(each) for owner, each in cycles(preemptor, plans_of, now, SECONDS).items()}


def test_two_that_evicted_each_other_spare_each_other() -> None:
    plans = [evicted("a", 1000.0, "b"), evicted("b", 1500.0, "a")]
    assert found("a", 1600.0, *plans) == {"b": (2100.0, True)}
    assert found("b", 1600.0, *plans) == {"a": (2100.0, True)}
    assert found("c", 1600.0, *plans) == {}
    assert found("a", 2100.0, *plans) == {}, "until SECONDS after the last eviction"


def test_long_after_it_is_no_cycle() -> None:
    plans = [evicted("a", 1000.0, "b"), evicted("b", 1601.0, "a")]
    assert found("a", 1602.0, *plans) == {}


@pytest.mark.parametrize(
    ("times", "until"),
    [
        ((1000.0, 1100.0), None),
        ((1000.0, 1100.0, 1200.0), 1800.0),
        ((1000.0, 1600.0, 2200.0), 2800.0),
        ((1000.0, 1601.0, 1700.0), None),
        ((0.0, 1000.0, 1100.0, 1200.0), 1800.0),
    ],
)
def test_an_owner_is_spared_after_three_plans_in_a_row(times: tuple[float, ...], until: float | None) -> None:
    plans = [evicted("a", at, "x", f"y{at}") for at in times]
    assert found("a", times[-1] + 1, *plans) == ({"x": (until, False)} if until else {})
    assert found("b", times[-1] + 1, *plans) == {}


async def test_a_controller_that_fills_the_room_again_is_left_alone_after_three_plans() -> None:
    """The gang runs each time, and its pod is replaced: nothing was in vain, and it is a cycle all the same."""

    def victim(number: int) -> Any:
        return pod(f"v{number}", node="n0", requests=BIG, priority=1, controller="web")

    def member(number: int, **fields: Any) -> Any:
        return pod(f"m{number}", group="gang", requests=BIG, **fields)

    before = CYCLES._value.get()
    async with staged(node("n0"), gang(minimum=1)) as stage:
        for number in range(4):
            stage.add(victim(number), member(number))
            stage.clock += 30
            await stage.settle()
            if number == 3:
                break
            stage.delete(victim(number))
            await stage.settle()
            stage.add(member(number, node="n0"))
            await stage.settle()
            stage.delete(member(number, node="n0"))
            await stage.settle()
        assert stage.api.deleted == ["v0", "v1", "v2"]
        assert CYCLES._value.get() == before + 1
        again = stage.restart()
        again.add(node("n0"), gang(minimum=1), victim(3), member(3))
        await again.settle()
        again.clock += 300
        await again.settle()
        assert again.api.deleted == ["v0", "v1", "v2"], "the next process knows it, too"
        again.clock += 400
        await again.settle()
        assert again.api.deleted == ["v0", "v1", "v2", "v3"]
        await again.close()


async def test_groups_that_evicted_each_other_stop() -> None:
    def of(group: str, number: int, **fields: Any) -> Any:
        return pod(f"{group}{number}", group=group, requests=BIG, **fields)

    low, high = gang("a", minimum=1, priority=10), gang("b", minimum=1, priority=20)
    async with staged(node("n0"), low, of("a", 0, node="n0", priority=10)) as stage:
        await stage.settle()
        stage.add(high, of("b", 0, priority=20))
        await stage.settle()
        assert stage.api.deleted == ["a0"]
        stage.delete(of("a", 0))
        stage.add(of("b", 0, node="n0", priority=20))
        await stage.settle()
        stage.add(gang("a", minimum=1, priority=30), of("a", 1, priority=30))
        await stage.settle()
        assert stage.api.deleted == ["a0", "b0"], "its priority was raised"
        stage.delete(of("b", 0))
        stage.add(of("a", 1, node="n0", priority=30))
        await stage.settle()
        stage.add(gang("b", minimum=1, priority=40), of("b", 1, priority=40))
        await stage.settle()
        assert stage.api.deleted == ["a0", "b0"]
