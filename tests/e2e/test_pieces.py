"""Gangs that were bound in part while reprieve was away: none that never ran whole stays in pieces."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from api.groups import POD_GROUP_LABEL
from api.times import parse_rfc3339
from controllers.gangs.lifecycle.partial import HELD_SECONDS
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.support import REPRIEVE, Sandbox, SandboxFactory, condition, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM

INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"
RELEASED: Final = "PartialGangReleased"
DISRUPTED: Final = {"type": "DisruptionTarget", "status": "True"}
IGNORED: Final = {"rules": [{"action": "Ignore", "onPodConditions": [DISRUPTED]}]}
"""The Job does not count pods that are evicted, and creates them again at once."""
PLACES: Final = ("plan.committed", "plan.confirmed", "evict.between", "plan.ready")
"""One in each phase: Planned, Confirmed, Evicting, Ready."""


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A plane whose reprieve waits for five seconds before it releases members."""
    settings = {"planning": {"partialGangSeconds": 5}}
    return start_plane(Options(reprieve=True, reprieve_settings=settings))


@pytest.fixture
def sandbox(plane: ControlPlane, sandboxes: SandboxFactory) -> Iterator[Sandbox]:
    """A namespace whose objects go before the next test, so that it finds no nodes of this one."""
    plane.reprieve.environment = {}
    if not plane.reprieve.running:
        plane.start_reprieve()
    made = sandboxes(plane)
    yield made
    made.remove()


def gang(sandbox: Sandbox, **job: Any) -> None:
    """Four pods of a Job that have to run together."""
    sandbox.group("gang", min_count=4, priority=100)
    given = {"parallelism": 4, "completions": 4, "podFailurePolicy": IGNORED, **job}
    sandbox.job("job", priority=100, group="gang", **given)


def held(sandbox: Sandbox, **job: Any) -> None:
    """A gang of four on three nodes waits, and its PodGroup says so."""
    sandbox.nodes(3, cpu="1")
    gang(sandbox, **job)
    written = sandbox.wait_condition("PodGroup", "gang", INITIALLY_SCHEDULED, "False")
    since = parse_rfc3339(written["lastTransitionTime"])
    wait_for(lambda: time.time() > since + HELD_SECONDS + 1.0, what="time stands still")


def members(sandbox: Sandbox) -> list[Json]:
    """Pods of the gang that do not terminate."""
    return [
        pod
        for pod in sandbox.list_pods()
        if pod["metadata"].get("labels", {}).get(POD_GROUP_LABEL) == "gang"
        if "deletionTimestamp" not in pod["metadata"]
    ]


def bound(sandbox: Sandbox) -> list[str]:
    """Names of the members that are bound."""
    return sorted(pod["metadata"]["name"] for pod in members(sandbox) if pod["spec"].get("nodeName"))


def in_pieces(sandbox: Sandbox, at_least: int) -> list[str]:
    """Bring the members back while reprieve is away. Returns the names of those that are bound then."""
    for pod in members(sandbox):
        if pod["spec"].get("nodeName"):
            continue
        status = {"message": "a change of the status brings a held pod back"}
        sandbox.client.patch(
            "v1", "Pod", pod["metadata"]["name"], {"status": status}, sandbox.namespace, "status"
        )
    wait_for(lambda: len(bound(sandbox)) >= at_least, what=sandbox.report)
    return bound(sandbox)


def report(sandbox: Sandbox) -> str:
    """How things stand, with why members stayed."""
    return "\n".join([*said(sandbox), sandbox.report()])


def said(sandbox: Sandbox) -> list[str]:
    """Why members of the gang stayed."""
    return [event["note"] for event in sandbox.events("PartialGangKept", "gang")]


def released(sandbox: Sandbox) -> list[str]:
    """Names of the pods that went with our reason, of all that there ever were."""
    found = {
        pod["metadata"]["name"]
        for _, pod in list(sandbox.history.states)
        if (condition(pod, "DisruptionTarget") or {}).get("reason") == RELEASED
        and pod["metadata"].get("deletionTimestamp")
    }
    return sorted(found)


def test_a_gang_bound_in_part_while_we_were_away_is_released(plane: ControlPlane, sandbox: Sandbox) -> None:
    held(sandbox)
    plane.reprieve.kill()
    pieces = in_pieces(sandbox, 3)
    plane.start_reprieve()
    wait_for(lambda: released(sandbox) == pieces, what=lambda: report(sandbox))
    assert bound(sandbox) == []

    def ended() -> bool:
        found = [plan for plan in sandbox.plans("gang") if plan["spec"]["outcome"] == "Releases"]
        return [plan["status"]["phase"] for plan in found] == ["Released"]

    wait_for(ended, what=sandbox.report)
    wait_for(
        lambda: all(sandbox.events(RELEASED, name) for name in ("gang", *pieces)), what="events are missing"
    )


@pytest.mark.parametrize("place", PLACES)
def test_killed_in_any_phase_the_gang_runs_whole_in_the_end(
    plane: ControlPlane, sandbox: Sandbox, place: str
) -> None:
    """Two nodes are free, and two are taken. Members are bound while reprieve is away, more if victims have gone."""
    restart(plane, f"{place}=kill")
    sandbox.full_nodes(2)
    for name in ("free-0", "free-1"):
        sandbox.node(name, cpu="1")
    gang(sandbox)
    plane.reprieve.wait(PATIENCE_SECONDS)
    in_pieces(sandbox, 2)
    restart(plane)
    wait_for(lambda: len(bound(sandbox)) == 4, what=sandbox.report)


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ({"podFailurePolicy": None, "backoffLimit": 2}, "bears 2 failed pods"),
        pytest.param({}, "bound before reprieve said", marks=SELDOM),
    ],
    ids=["a Job that would fail", "a PodGroup that says nothing"],
)
def test_members_stay_with_an_event_that_says_why(
    plane: ControlPlane, sandbox: Sandbox, job: dict[str, Any], why: str
) -> None:
    held(sandbox, **job)
    plane.reprieve.kill()
    if not job:
        sandbox.client.patch(REPRIEVE, "PodGroup", "gang", {"status": None}, sandbox.namespace, "status")
    pieces = in_pieces(sandbox, 3)
    plane.start_reprieve()
    # The first one may say that the scheduler has not called yet.
    wait_for(
        lambda: any(why in each for each in said(sandbox)),
        what=lambda: f"{said(sandbox)}\n{sandbox.report()}",
    )
    assert bound(sandbox) == pieces
    assert released(sandbox) == []


def restart(plane: ControlPlane, failpoints: str = "") -> None:
    """Another process of reprieve."""
    plane.reprieve.kill()
    plane.reprieve.environment = {"REPRIEVE_FAILPOINTS": failpoints} if failpoints else {}
    plane.start_reprieve()
