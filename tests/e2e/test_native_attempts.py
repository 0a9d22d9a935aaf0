"""A steered gang that has waited: the scheduler evicts in its first attempt after the plan, and `why` says when.

The scheduler comes back to a gang that it has turned down by its backoff only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from api.times import parse_rfc3339
from controllers.gangs.scheduler.attempts import WINDOW_SECONDS
from hack.controlplane.client import Client, Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.native_modes import use_mode
from tests.e2e.other_kinds import NATIVE
from tests.e2e.questions import Asking
from tests.e2e.served import read_metrics
from tests.e2e.steering import HIGH, Steering, marks, steered_in, victims
from tests.e2e.support import Sandbox, condition, wait_for
from tests.kit.often import SELDOM
from tests.kit.versions import needs

pytestmark = needs(NATIVE, "it has no groups that reprieve reads")

HELD: Final = 'reprieve_native_passes_total{result="held"}'
YOUNGER_SECONDS: Final = 2.0
"""If a group is created this long after the process began to lead, every attempt on it is seen."""
ROUNDING_SECONDS: Final = 1.0
"""Objects have whole seconds."""


@pytest.fixture
def steering(
    native_plane: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]
) -> Iterator[Steering]:
    use_mode(native_plane, "Steer")
    with steered_in(native_plane, sandboxes(native_plane)) as steering:
        yield steering


@SELDOM
def test_without_gates_the_attempt_whose_time_was_stored_evicts(steering: Steering) -> None:
    """From the fourth attempt on, the next one is 8 s away."""
    pods, plan = planned_after(steering, 3, 6.0)
    evicted_at(steering, pods, plan["status"]["nextAttempt"])


@SELDOM
def test_why_names_the_attempt_that_evicts(steering: Steering, tmp_path: Path) -> None:
    """The command takes some seconds, and attempts on a gang of 25 are 50 s apart."""
    use_mode(steering.plane, "Steer", elects=True)
    pods, plan = planned_after(steering, 25, 180.0)
    due = plan["status"]["nextAttempt"]
    answer = Asking(steering.plane, tmp_path).in_state(question(steering), "AttemptPending")
    assert answer is not None
    assert answer["numbers"]["nextAttempt"] == due
    assert f"at {due} when its backoff is over" in answer["triedAgain"]
    evicted_at(steering, pods, due)


@pytest.mark.parametrize(("members", "seconds"), [(3, 3.0), pytest.param(25, 180.0, marks=SELDOM)])
def test_with_gates_the_first_attempt_of_all_evicts(
    steering: Steering, tmp_path: Path, members: int, seconds: float
) -> None:
    sandbox = steering.sandbox
    use_mode(steering.plane, "Steer", gates="UntilPlanned")
    let_the_scheduler_call(sandbox)
    closed = all_but_one(sandbox, members)
    held = held_passes(steering)
    pods = steering.gang("gang", members)
    steering.plan("gang", "Unschedulable")
    sandbox.watch_quietly(seconds, *pods)
    assert not steering.tried("gang")
    answer = json.loads(Asking(steering.plane, tmp_path).ask(question(steering)).stdout)
    assert "right after reprieve has removed its scheduling gate" in answer["triedAgain"]
    open_node(sandbox, closed)
    bound_as_planned(steering, pods)
    assert held_passes(steering) == held


# ---- the parts


def planned_after(steering: Steering, members: int, seconds: float) -> tuple[list[str], Json]:
    """A gang that has waited has a plan. Returns its pods and the plan, once that has the time of the next attempt.

    One node is closed, so each attempt is held. It opens right after an attempt.
    """
    sandbox = steering.sandbox
    closed = all_but_one(sandbox, members)
    wait_for(lambda: leads(steering.plane), what="nobody leads")
    sandbox.watch_quietly(YOUNGER_SECONDS)
    pods = steering.gang("gang", members)
    sandbox.watch_quietly(seconds, *pods)
    before = held_passes(steering)
    wait_for(lambda: held_passes(steering) > before, what=sandbox.report)
    open_node(sandbox, closed)
    steering.plan("gang", "Planned")
    wait_for(lambda: "nextAttempt" in steering.plan("gang", "Planned")["status"], what=sandbox.report)
    assert not marks(sandbox)
    plan = steering.plan("gang", "Planned")
    assert plan["status"]["nextAttemptKnown"]
    return pods, plan


def evicted_at(steering: Steering, pods: list[str], due: str) -> None:
    """The first attempt after the plan evicts, and does not come sooner than the plan said."""
    held = held_passes(steering)
    bound_as_planned(steering, pods)
    first = min(
        parse_rfc3339(mark["lastTransitionTime"], "")
        for _, pod in steering.sandbox.history.all()
        if (mark := condition(pod, "DisruptionTarget")) is not None
    )
    assert first >= parse_rfc3339(due, "") - WINDOW_SECONDS - ROUNDING_SECONDS
    assert held_passes(steering) <= held + 1, "a pass is counted when the next one begins"


def question(steering: Steering) -> str:
    return f"why podgroup {steering.sandbox.namespace}/podgroups.scheduling.k8s.io:gang"


def leads(plane: ControlPlane) -> bool:
    return any(
        value == 1 for name, value in read_metrics(plane).items() if name.startswith("reprieve_leading")
    )


def held_passes(steering: Steering) -> float:
    """Passes in which no member was offered a node."""
    return read_metrics(steering.plane).get(HELD, 0.0)


def all_but_one(sandbox: Sandbox, members: int) -> str:
    """Full nodes for all members. Returns the one that is closed."""
    closed, *_ = sandbox.full_nodes(members)
    sandbox.client.patch("v1", "Node", closed, {"spec": {"unschedulable": True}})
    return closed


def let_the_scheduler_call(sandbox: Sandbox) -> None:
    """A process that no scheduler has called removes the gates, so that it calls."""
    sandbox.node("called", cpu="1")
    sandbox.wait_bound(sandbox.pod("caller", priority=HIGH))


def open_node(sandbox: Sandbox, node: str) -> None:
    sandbox.client.patch("v1", "Node", node, {"spec": {"unschedulable": None}})


def bound_as_planned(steering: Steering, pods: list[str]) -> None:
    """The gang is bound by one plan, by which the scheduler evicts."""
    sandbox = steering.sandbox
    sandbox.wait_bound(*pods)
    plan = steering.plan("gang", "Bound")
    assert plan["spec"]["evictedBy"] == "Scheduler"
    assert sandbox.history.evictions() == victims(plan)
    assert set(marks(sandbox).values()) == {"kube-scheduler"}
