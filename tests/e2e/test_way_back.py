"""A roll-out from Enforce to Observe in the middle of a unit, with members held: at rest nothing of it is left.

Tests of single phases without a cluster: tests/unit/controllers/gangs/undoing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from api.published import HOLDS
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.forgotten import wait_bound
from tests.e2e.support import SandboxFactory, condition, wait_for
from tests.e2e.switches import (
    ENFORCES,
    OBSERVES,
    configure,
    lease,
    of_enforce,
    traces,
    wait_mode,
    wait_nothing_held,
)
from tests.kit.forks.client import forking
from tests.kit.often import SELDOM

MIDDLE: Final = "evict.between=60s"
"""After the first pod of a unit, long enough for the roll-out."""
MARKED: Final = "evict.marked=60s"
"""Between the mark of a pod and its deletion."""


@pytest.fixture
def plane(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Two replicas: the first one enforces, with the failpoints of the test, and the second one observes."""
    environment = {"REPRIEVE_FAILPOINTS": request.param}
    options = Options(reprieve=True, replicas=2, start_reprieve=False, reprieve_environment=environment)
    with ControlPlane(tmp_path / "plane", forking(options)) as made:
        configure(made, OBSERVES, mode="Observe")
        made.start_reprieve(ENFORCES)
        wait_for(lambda: made.leader() == ENFORCES, what="nobody leads")
        made.start_reprieve(OBSERVES)
        yield made


@pytest.mark.parametrize(
    ("plane", "evicted"),
    [(MIDDLE, True), pytest.param(MARKED, False, marks=SELDOM)],
    ids=["in the middle of a unit", "between mark and deletion"],
    indirect=["plane"],
)
def test_at_rest_nothing_is_left_of_enforce(
    plane: ControlPlane, sandboxes: SandboxFactory, evicted: bool
) -> None:
    """A begun unit is finished. One that is only marked stays, until the scheduler itself evicts it."""
    sandbox = sandboxes(plane)
    sandbox.nodes(3, cpu="2")
    unit = sandbox.gang("low", 3, priority=1, cpu="2", mode="all")
    sandbox.wait_bound(*unit)
    heroes = sandbox.gang("hero", 2, priority=100, cpu="2")
    if evicted:
        wait_for(lambda: len(sandbox.history.evictions()) == 1, what=sandbox.report)
    else:
        wait_for(lambda: any(condition(pod, "DisruptionTarget") for pod in sandbox.list_pods()))
    sandbox.group("late", min_count=3, priority=50)
    late = [sandbox.pod(f"late-{number}", priority=50, cpu="500m", group="late") for number in range(2)]
    wait_for(lambda: all(condition(sandbox.get_pod(name) or {}, "reprieve.dev/Held") for name in late))
    assert lease(plane)[HOLDS] == ""
    plane.processes[ENFORCES].stop(60)
    wait_mode(plane, "Observe")
    wait_nothing_held(plane)
    wait_bound(sandbox, *heroes, *late)
    wait_for(lambda: not traces(sandbox), what=lambda: f"left: {traces(sandbox)}")
    assert {plan["status"]["conditions"][-1]["reason"] for plan in of_enforce(sandbox)} == {"ModeChanged"}
    assert plane.processes[OBSERVES].running
