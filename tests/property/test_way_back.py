"""After any history of Enforce, and however often a process dies on the way back: at rest nothing is marked, gated,
nominated, held, in pieces or promised."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from api.core import Pod
from tests.kit.eviction_stage import BIG, away, hero, unit
from tests.kit.leftovers import left
from tests.kit.objects import gang, make, node, pod
from tests.kit.observed import ObservedStage
from tests.kit.phases import PODS, end_victims
from tests.kit.stage import Api, Mirrored, Stage

GATE = [{"name": "reprieve.dev/gang"}]
HELD = [{"type": "reprieve.dev/Held", "status": "True", "reason": "Gathering", "message": "waits"}]
REFUSED = [
    {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/4 nodes are available: 4 reprieve: pod group default/late waits.",
    }
]
OBJECTS: list[Any] = [
    *unit(2),
    *(node(f"n{number}") for number in (2, 3)),
    *(pod(f"v{number}", node=f"n{number}", requests=BIG, priority=2) for number in (2, 3)),
    gang("late", minimum=3),
]
IN_THE_MIDDLE = ["hero", "away after one", "settle", "settle", "settle"]
"""Half of the unit is gone: it has the lowest priority."""
STEPS = st.lists(
    st.sampled_from(
        [
            "settle",
            "settle",
            "hero",
            "alone",
            "away after one",
            "back",
            "gated",
            "told",
            "refused",
            "a victim ends",
            "time",
        ]
    ),
    max_size=12,
)


async def do(stage: Stage, step: str) -> None:
    match step:
        case "settle":
            await stage.settle(2)
        case "hero":
            stage.add(*hero(2))
        case "alone":
            stage.add(gang("solo", minimum=1), pod("s0", group="solo", requests=BIG, priority=100))
        case "away after one":
            number = len(stage.api.deleted)
            stage.api.refuse = lambda method, _path: (
                away() if method == "DELETE" and len(stage.api.deleted) > number else None
            )
        case "back":
            stage.api.refuse = lambda _method, _path: None
        case "gated":
            stage.add(pod("l0", group="late", requests=BIG, schedulingGates=GATE))
        case "told":
            stage.add(pod("l1", group="late", requests=BIG, conditions=HELD))
        case "refused":
            stage.add(pod("l2", group="late", requests=BIG, conditions=REFUSED))
        case "a victim ends":
            end_victims(stage)
        case _:  # time
            stage.clock += 5.0


def observer(former: Mirrored) -> ObservedStage:
    stage = ObservedStage(former._executor, former.api)
    stage.add(*(each for each in OBJECTS if not isinstance(each, Pod)), *hero(2)[:1])
    stage.add(*(make(Pod, body) for body in list(former.api.of(PODS).values())))
    return stage


async def history(steps: list[str], deaths: list[int]) -> None:
    with ThreadPoolExecutor(1) as executor:
        former = Stage(executor, Api())
        former.add(*OBJECTS)
        for step in steps:
            await do(former, step)
        await former.close()
        former.api.refuse = lambda _method, _path: None
        begun = [*former.api.deleted]
        stage = observer(former)
        for looks in deaths:
            await stage.settle(looks)
            await stage.close()
            stage = observer(stage)
        for _ in range(4):
            await stage.settle(3)
            end_victims(stage)
            stage.clock += 61.0
        assert left(stage.api) == []
        assert stage.reserved == 0
        assert not stage.controller.holding.now
        assert stage.leading.undoing.tools is None
        assert set(stage.api.deleted) - set(begun) <= {"u0", "u1"}, "only a begun unit is finished"
        if not {"u0", "u1"} & set(begun):
            assert stage.api.deleted == begun
        await stage.close()


@given(st.sampled_from([[], IN_THE_MIDDLE]), STEPS, st.lists(st.integers(0, 2), max_size=2))
@settings(max_examples=12)
def test_nothing_is_left_at_rest(first: list[str], steps: list[str], deaths: list[int]) -> None:
    asyncio.run(history([*first, *steps], deaths))
