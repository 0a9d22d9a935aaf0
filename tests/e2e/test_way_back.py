"""A roll-out from Enforce to Observe in the middle of a unit, with members held: at rest nothing of it is left.

Tests of single phases without a cluster: tests/unit/controllers/gangs/undoing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from api.published import HOLDS, PLANNING_MODE
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.support import Sandbox, SandboxFactory, condition, wait_for
from tests.kit.often import SELDOM

ENFORCES, OBSERVES = "reprieve", "reprieve-2"
MIDDLE: Final = "evict.between=60s"
"""After the first pod of a unit, long enough for the roll-out."""
MARKED: Final = "evict.marked=60s"
"""Between the mark of a pod and its deletion."""


@pytest.fixture
def plane(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Two replicas: the first one enforces, with the failpoints of the test, and the second one observes."""
    environment = {"REPRIEVE_FAILPOINTS": request.param}
    options = Options(reprieve=True, replicas=2, start_reprieve=False, reprieve_environment=environment)
    with ControlPlane(tmp_path / "plane", options) as made:
        file = made.directory / f"{OBSERVES}.yaml"
        settings = yaml.safe_load(file.read_text())
        settings["planning"] = {**settings.get("planning", {}), "mode": "Observe"}
        file.write_text(yaml.safe_dump(settings))
        made.start_reprieve(ENFORCES)
        wait_for(lambda: made.leader() == ENFORCES, what="nobody leads")
        made.start_reprieve(OBSERVES)
        yield made


def lease(plane: ControlPlane) -> dict[str, str]:
    """What the leader says of itself."""
    found = plane.client.get("coordination.k8s.io/v1", "Lease", "reprieve", "reprieve-system")
    notes: dict[str, str] = (found or {})["metadata"]["annotations"]
    return notes


def traces(sandbox: Sandbox) -> list[str]:
    """What is marked, gated, held or promised."""
    found = []
    for pod in sandbox.list_pods():
        name, mark = pod["metadata"]["name"], condition(pod, "DisruptionTarget")
        held = condition(pod, "reprieve.dev/Held")
        if pod["metadata"].get("deletionTimestamp"):
            found.append(f"{name} leaves")
        elif pod["spec"].get("schedulingGates") or (held or {}).get("status") == "True":
            found.append(f"{name} is held")
        elif mark is not None and "[term " in mark["message"]:
            found.append(f"{name} is marked")
        elif not pod["spec"].get("nodeName"):
            found.append(f"{name} is not bound")
    found += [f"{plan['metadata']['name']} is active" for plan in of_enforce(sandbox) if is_open(plan)]
    return found


def of_enforce(sandbox: Sandbox) -> list[Json]:
    return [plan for plan in sandbox.plans("hero") if "mode" not in plan["spec"]]


def is_open(plan: Json) -> bool:
    return plan["status"]["phase"] != "Aborted" or bool(plan["metadata"].get("finalizers"))


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
    wait_for(lambda: lease(plane)[PLANNING_MODE] == "Observe")
    wait_for(lambda: lease(plane)[HOLDS] == "", what=lambda: lease(plane)[HOLDS])
    sandbox.wait_bound(*heroes, *late)
    wait_for(lambda: not traces(sandbox), what=lambda: f"left: {traces(sandbox)}")
    assert {plan["status"]["conditions"][-1]["reason"] for plan in of_enforce(sandbox)} == {"ModeChanged"}
    assert plane.processes[OBSERVES].running
