"""DispatchPlans that are over go after a while, and those of a present attempt stay."""

from __future__ import annotations

import asyncio
from typing import Any

from controllers.multikueue.acting.retiring import retire
from tests.kit.waiting import until
from tests.unit.controllers.multikueue.dispatching_stage import RESERVED, TURNS, Stage

DAY = 86_400.0


def turn(name: str, attempt: str) -> dict[str, Any]:
    spec = {
        "workload": {"name": "w", "uid": "uid-w", "attempt": attempt, "priority": 10},
        "number": 1,
        "cluster": "a",
        "order": "LeastDisruption",
        "reason": "",
        "began": "2025-12-01T00:00:00.000000Z",
        "until": "2025-12-01T00:05:00.000000Z",
        "clusters": [],
    }
    return {"metadata": {"name": name, "namespace": "n", "uid": name}, "spec": spec}


async def test_a_turn_of_a_former_attempt_is_deleted_when_its_time_is_over() -> None:
    stage = Stage("a")
    stage.submit()
    stage.here.put(TURNS, turn("former", "2025-12-01T00:00:00Z"), turn("present", RESERVED))
    task = asyncio.create_task(retire(stage.mirrors, stage.sender(), DAY, stage.clock))
    await until(lambda: "former" not in stage.here.of(TURNS))
    task.cancel()
    assert list(stage.here.of(TURNS)) == ["present"]
