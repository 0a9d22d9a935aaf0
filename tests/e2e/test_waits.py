"""A PodGroup says what its gang waits for, with numbers; its pods name the phase only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.questions import DUMPS, Asking
from tests.e2e.support import REPRIEVE, Sandbox, condition, wait_for

SCHEDULED: Final = "reprieve.dev/Scheduled"
LINGER: Final = "reprieve.dev/linger"


def wait_said(sandbox: Sandbox, reason: str, message: str) -> Json:
    """The status of the PodGroup, once its condition has the reason and a message with this text."""

    def look() -> Json | None:
        group = sandbox.client.get(REPRIEVE, "PodGroup", "hero", sandbox.namespace)
        said = condition(group, SCHEDULED)
        if said is None or said["reason"] != reason or message not in said["message"]:
            return None
        assert said["observedGeneration"] == group["metadata"]["generation"]
        assert group["status"]["observedGeneration"] == group["metadata"]["generation"]
        return dict(group["status"])

    def what() -> str:
        group = sandbox.client.get(REPRIEVE, "PodGroup", "hero", sandbox.namespace)
        return f"{condition(group, SCHEDULED)}\n{sandbox.report()}"

    return wait_for(look, what=what)


def test_from_the_first_member_to_the_last(sandbox: Sandbox) -> None:
    """It gathers, waits for a gate of somebody else, frees room, and runs."""
    nodes = sandbox.nodes(2, cpu="1")
    victims = [sandbox.filler(f"low-{n}", node, 1, finalizers=[LINGER])[0] for n, node in enumerate(nodes)]
    sandbox.group("hero", min_count=2, priority=100)
    wait_said(sandbox, "Gathering", "0 of 2 members exist")
    sandbox.pod("hero-0", group="hero", priority=100)
    status = wait_said(sandbox, "Gathering", "1 of 2 members exist")
    assert (status["members"], status["requiredMembers"], status["boundMembers"]) == (1, 2, 0)
    sandbox.pod("hero-1", group="hero", priority=100, schedulingGates=[{"name": "example.com/wait"}])
    status = wait_said(sandbox, "SchedulingGated", "1 pod has a scheduling gate of another program")
    assert status["gatedPods"] == 1
    sandbox.client.patch("v1", "Pod", "hero-1", {"spec": {"schedulingGates": None}}, sandbox.namespace)
    wait_said(sandbox, "FreeingRoom", "0 of 2 pods gone")
    sandbox.release(victims[0])
    wait_said(sandbox, "FreeingRoom", "1 of 2 pods gone")
    sandbox.release(victims[1])
    sandbox.wait_bound("hero-0", "hero-1")
    status = wait_said(sandbox, "Scheduled", "2 members are bound, and 2 must run")
    assert status["boundMembers"] == 2
    found = next(each for each in status["conditions"] if each["type"] == SCHEDULED)
    assert found["status"] == "True"
    assert len(sandbox.events("Preempting", "hero")) == 1


def test_a_gang_that_no_scheduler_tries(sandbox: Sandbox) -> None:
    """It waits for the scheduler's word, then until its next plan. Its pods name the phase, without numbers."""
    sandbox.full_nodes(2)
    members = sandbox.gang("hero", 2, priority=100, schedulerName="nobody")
    wait_said(sandbox, "ConfirmationPending", "confirmed 0 of 2 members")
    wait_said(sandbox, "BackingOff", "because of NotAttempted: no scheduler has tried")
    held = sandbox.wait_condition("Pod", members[0], "reprieve.dev/Held", "True")
    text = held["message"].replace(sandbox.namespace, "")
    assert text == "pod group /hero cannot be placed now, see its conditions"
    assert not re.search(r"\d", text)
    wait_for(lambda: len(sandbox.plans("hero")[0]["status"].get("conditions", ())) > 1, what=sandbox.report)
    assert len(sandbox.events("NotAttempted", "hero")) == 1
    assert sandbox.history.evictions() == {}


def test_a_gang_that_fits_nowhere_says_why_and_when_that_was_decided(sandbox: Sandbox) -> None:
    sandbox.nodes(1, cpu="1")
    sandbox.gang("hero", 2, priority=100)
    status = wait_said(sandbox, "Unschedulable", "cpu")
    assert (status["members"], status["boundMembers"]) == (2, 0)
    assert sandbox.wait_plan("hero", "Unschedulable")["status"]["lastDecisionTime"]


def test_the_command_says_whose_room_is_freed(
    reprieve_plane: ControlPlane, sandbox: Sandbox, tmp_path: Path
) -> None:
    """`reprieve why`: the status and the stored plan speak, from the cluster and from a dump."""
    asking = Asking(reprieve_plane, tmp_path)
    node = sandbox.node("full", cpu="2")
    low = sandbox.filler("low", node, 2, finalizers=[LINGER])
    sandbox.gang("hero", 2, priority=100)
    space = sandbox.namespace
    question = f"why podgroup {space}/hero"
    live = wait_for(lambda: asking.in_state(question, "FreeingRoom"), what=sandbox.report)
    assert (live["source"], bool(live["plan"]), len(live["waitsFor"])) == ("Status", True, 2)
    assert "0 of 2 pods gone" in live["sentence"]
    assert asking.both(question, asking.dump(DUMPS[0])) == live
    for name in low:
        sandbox.release(name)
    sandbox.wait_bound("hero-0", "hero-1")
    assert wait_for(lambda: asking.in_state(question, "Scheduled"))["waits"] is False
