"""Plans for members that look at pods on other nodes, beside every placement, order and choice of victims there is."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.answers.asking import decide_group, decide_pod
from tests.kit.examples import examples
from tests.kit.plans.afar import Afar
from tests.kit.plans.engine import snapshot_of
from tests.kit.plans.looking import looking
from tests.kit.plans.raw import Object

SEEDS: Final = st.integers(0, 2**32)


def decided(objects: list[Object], *, alone: bool) -> dict[str, Any]:
    decide = decide_pod if alone else decide_group
    spec: dict[str, Any] = msgspec.to_builtins(decide(snapshot_of(objects), "d", "hero"))
    return spec


def outcomes(world: Afar, plan: dict[str, Any]) -> set[str]:
    """The outcomes that are right. The oldest members count, or those of the plan if the oldest cannot run.

    A plan for one domain may evict pods of another one that keep members out of it. They are not tried here.
    """
    first = next(world.plans(world.members[: world.minimum]), None)
    if first is None and world.minimum < len(world.members):
        chosen = [each["pod"] for each in plan["placements"] if not each["beyondMinCount"]]
        first = next(world.plans(chosen or None), None)
    if first is None:
        return {"Unschedulable", "Preempts"}
    return {"Preempts" if first.victims else "Fits"}


@settings(max_examples=examples(1500), deadline=None)
@given(SEEDS, st.booleans())
def test_a_plan_is_found_if_there_is_one_and_holds_in_its_order(seed: int, alone: bool) -> None:
    objects = looking(Random(seed), alone=alone)
    world, plan = Afar(objects), decided(objects, alone=alone)
    assert plan["notModelled"] == []
    assert plan["outcome"] in outcomes(world, plan)
    if plan["placements"]:
        assert list(world.faults(plan)) == []
    else:
        assert plan["outcome"] == "Unschedulable"


@settings(max_examples=examples(500), deadline=None)
@given(SEEDS)
def test_the_order_of_objects_changes_nothing(seed: int) -> None:
    objects = looking(Random(seed))
    shuffled = objects[:]
    Random(seed + 1).shuffle(shuffled)
    assert decided(shuffled, alone=False) == decided(objects, alone=False)
