"""The world changes while a plan is carried out: in every phase the plan goes on if it still holds, and else ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from kube.errors import ApiError
from tests.kit.eviction_stage import away, impatient, refuse
from tests.kit.objects import gang, node, pod, priority_class
from tests.kit.stage import Stage, staged

__all__ = ["impatient"]

BIG: Final = {"cpu": "4"}
ZONE: Final = {"zone": "a"}
ACTIVE: Final = ("Planned", "Confirmed", "Evicting", "Ready")
BEGINNING: Final = "Evicting, and nobody has gone yet"
PHASES: Final = (*ACTIVE, BEGINNING)
BOTH: Final = ("n0", "n1")


def the_gang(minimum: int = 2) -> Any:
    return gang(minimum=minimum, priority=None, priorityClassName="high")


def member(number: int, **fields: Any) -> Any:
    return pod(f"m{number}", group="gang", requests=BIG, nodeSelector=ZONE, **fields)


def victim(number: int, **fields: Any) -> Any:
    return pod(f"v{number}", **{"node": f"n{number}", "requests": BIG, "priority": 1, **fields})


def world() -> list[Any]:
    """Two full nodes, and a gang that needs both."""
    nodes = [node(name, labels=ZONE) for name in BOTH]
    return [*nodes, priority_class("high", 100), the_gang(), victim(0), victim(1), member(0), member(1)]


async def reach(stage: Stage, phase: str) -> None:
    """The plan is in this phase, and stays there."""
    if phase == "Planned":
        stage.agrees = False
    elif phase == "Confirmed":
        stage.leading.writer._sender._attempts = 1
        stage.api.refuse = lambda method, path: _no_evicting(stage, method, path)
    elif phase == BEGINNING:
        refuse(stage, "DELETE", away)
    await stage.settle()
    if phase == "Ready":
        stage.delete(victim(0), victim(1))
        await stage.settle()
    assert stage.phases() == [phase.partition(",")[0]]


def _no_evicting(stage: Stage, method: str, path: str) -> ApiError | None:
    """The API server takes no phase after Confirmed."""
    is_status = method == "PATCH" and "preemptionplans" in path and path.endswith("/status")
    return ApiError(503, "Away", "x", 0) if is_status and stage.phases() == ["Confirmed"] else None


def cordon(stage: Stage) -> None:
    stage.add(node("n0", labels=ZONE, unschedulable=True))


def taint(stage: Stage) -> None:
    stage.add(node("n0", labels=ZONE, taints=[{"key": "broken", "effect": "NoSchedule"}]))


def relabel(stage: Stage) -> None:
    stage.add(node("n0", labels={"zone": "b"}))


def shrink(stage: Stage) -> None:
    stage.add(node("n0", labels=ZONE, cpu="3"))


def remove_node(stage: Stage) -> None:
    stage.delete(node("n0"))


def finish_victim(stage: Stage) -> None:
    stage.add(victim(0, phase="Succeeded"))


def raise_victim(stage: Stage) -> None:
    stage.add(victim(0, priority=500))


def move_victim(stage: Stage) -> None:
    """Another pod of the name runs on another node."""
    stage.delete(victim(0))
    stage.add(node("n9"), victim(0, node="n9", uid="another"))


def raise_minimum(stage: Stage) -> None:
    stage.add(the_gang(3), member(2))


def lower_minimum(stage: Stage) -> None:
    stage.add(the_gang(1))


def remove_class(stage: Stage) -> None:
    stage.delete(priority_class("high", 100))


def take_room(stage: Stage) -> None:
    """A pod of higher priority is bound there."""
    stage.add(pod("urgent", node="n0", requests={"cpu": "1"}, priority=2000))


def start_daemon(stage: Stage) -> None:
    """A DaemonSet's pod is bound there. Its priority is low, but it is nobody's victim."""
    stage.add(pod("daemon", node="n0", requests={"cpu": "1"}, priority=0, controller="daemons"))


def raise_unit(stage: Stage) -> None:
    """The victim's PodGroup has a higher priority now; the pod's own stays."""
    stage.add(gang("unit", minimum=1, priority=500), victim(0, group="unit"))


def take_out(stage: Stage) -> None:
    """The victim is being deleted by somebody else."""
    stage.add(victim(0, deleting=True))


def grow_unit(stage: Stage) -> None:
    """The victim goes whole with a group that has another pod."""
    stage.add(gang("unit", minimum=2, mode="all", priority=1), victim(0, group="unit"))
    stage.add(node("n9"), pod("other", group="unit", node="n9", priority=1))


def forbid(stage: Stage) -> None:
    """The gang may evict nobody any longer."""
    stage.add(gang(minimum=2, priority=None, priorityClassName="high", preemptionPolicy="Never"))


def lower_gang(stage: Stage) -> None:
    stage.add(priority_class("high", 1))


BEFORE: Final = dict.fromkeys(("Planned", "Confirmed"), "Changed")
UNTIL_THEY_GO: Final = {**BEFORE, BEGINNING: "Changed"}
ALWAYS: Final = dict.fromkeys(PHASES, "Changed")
NO_ROOM: Final = dict.fromkeys(PHASES, "RoomTaken")
ENDINGS: Final[list[tuple[Callable[[Stage], None], dict[str, str]]]] = [
    (cordon, ALWAYS),
    (taint, ALWAYS),
    (relabel, ALWAYS),
    (shrink, NO_ROOM),
    (remove_node, {**NO_ROOM, **BEFORE}),
    (take_room, NO_ROOM),
    (start_daemon, NO_ROOM),
    (raise_unit, UNTIL_THEY_GO),
    (take_out, BEFORE),
    (grow_unit, UNTIL_THEY_GO),
    (forbid, UNTIL_THEY_GO),
    (lower_gang, UNTIL_THEY_GO),
    (finish_victim, BEFORE),
    (raise_victim, UNTIL_THEY_GO),
    (move_victim, BEFORE),
    (raise_minimum, dict.fromkeys(PHASES, "MembersLost")),
    (lower_minimum, UNTIL_THEY_GO),
    (remove_class, UNTIL_THEY_GO),
]
"""How the plan ends, by phase; it goes on where no ending is named."""


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(("change", "endings"), ENDINGS, ids=lambda each: getattr(each, "__name__", ""))
async def test_a_plan_that_no_longer_holds_ends_and_any_other_goes_on(
    change: Callable[[Stage], None], endings: dict[str, str], phase: str
) -> None:
    async with staged(*world()) as stage:
        await reach(stage, phase)
        (name,) = stage.api.plans
        gone = list(stage.api.deleted)
        change(stage)
        stage.agrees = False  # nobody is evicted for a later plan
        stage.api.refuse = lambda _method, _path: None
        await stage.settle(steps=2)
        status = stage.api.plans[name]["status"]
        if phase in endings:
            reasons = {each["type"]: each["reason"] for each in status["conditions"]}
            assert reasons["Aborted"] == endings[phase]
            assert status["phase"] == "Aborted"
            assert stage.api.deleted == gone
        else:
            assert status["phase"] in ACTIVE


@pytest.mark.parametrize("change", [cordon, shrink], ids=lambda each: each.__name__)
async def test_a_plan_that_has_evicted_is_followed_at_once_by_one_on_the_room_that_it_made(
    change: Callable[[Stage], None],
) -> None:
    async with staged(*world(), node("n2", labels=ZONE), victim(2)) as stage:
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1"]
        stage.delete(victim(0), victim(1))
        await stage.settle()
        change(stage)
        await stage.settle()
        assert sorted(stage.api.deleted) == ["v0", "v1", "v2"]
        stage.delete(victim(2))
        await stage.settle()
        assert sorted(stage.api.nominated.values()) == ["n1", "n2"]
