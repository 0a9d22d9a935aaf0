"""reprieve killed between the writes of Workloads' lives: the end is that of a run in which nobody died."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from controllers.quota.plans.resuming import FENCED
from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.quota_sandbox import QUOTA, QuotaSandbox
from tests.e2e.support import POLL_SECONDS, REPRIEVE, wait_for
from tests.kit.clock import PATIENCE_SECONDS

WITHIN: Json = {"withinClusterQueue": "LowerPriority"}
BEFORE, AFTER = "quota.before_write", "quota.after_write"
DEATHS = {
    "at each write": [f"{place}=kill,quota.plan_stored=kill" for place in (BEFORE, AFTER) * 4],
    "before a deactivation": [
        "quota.before_deactivate=kill",
        f"{AFTER}=kill",
        f"{BEFORE}=kill",
        f"{AFTER}=kill",
    ],
}
"""Where each process dies, one after the other. The one after them stays alive."""
ENDS: Any = {"high": "Admitted", "retried": "Admitted", "drained": "Evicted", "rejected": "Evicted"}
"""By Workload: the condition that is True in the end."""


class Lives:
    """A preemption, a retry of a check, and two deactivations. What others do follows from what they see."""

    def __init__(self, plane: ControlPlane, name: str) -> None:
        self.box = box = QuotaSandbox(plane, name)
        self.check = box.check("one")
        checks: Json = {"admissionChecks": [{"name": self.check}]}
        box.queue("q", 2, preemption=WITHIN)
        box.queue("checked", 2, admissionChecksStrategy=checks)
        box.queue("plain", 1)
        box.workload("low", "q", 2)
        box.workload("retried", "checked", 1)
        box.workload("rejected", "checked", 1)
        box.workload("drained", "plain", 1)
        self._steps: list[tuple[str, str, Callable[[], object]]] = [
            ("low", "Admitted", lambda: box.workload("high", "q", 2, priority=10)),
            ("low", "Evicted", lambda: box.end("low")),
            (
                "retried",
                "QuotaReserved",
                lambda: box.set_check("retried", self.check, "Retry", requeueAfterSeconds=1),
            ),
            ("retried", "Requeued", lambda: None),
            ("retried", "QuotaReserved", lambda: box.set_check("retried", self.check, "Ready")),
            ("rejected", "QuotaReserved", lambda: box.set_check("rejected", self.check, "Rejected")),
            (
                "drained",
                "Admitted",
                lambda: box.patch_spec("Workload", "drained", {"active": False}, namespaced=True),
            ),
            ("drained", "Evicted", lambda: box.end("drained")),
        ]
        """The Workload, its condition that is waited for, and what follows. Steps of one Workload are in order."""

    def go_on(self) -> bool:
        """Do what is due. Returns whether all is done."""
        seen: set[str] = set()
        for step in list(self._steps):
            name, kind, action = step
            if name not in seen and self.box.is_true(name, kind):
                action()
                self._steps.remove(step)
            seen.add(name)
        return not self._steps and all(self.box.is_true(name, kind) for name, kind in ENDS.items())

    def end(self) -> dict[str, Any]:
        """What is left in the end, without times, the names of this run, and what each new term writes."""
        uids = {self.box.get(name)["metadata"]["uid"]: f"UID of {name}" for name in self.box.names()}
        found = {name: _state(self.box.get(name)) for name in self.box.names()}
        plans = self.box.client.list(REPRIEVE, "PreemptionPlan", self.box.name)
        return {
            "workloads": _renamed(found, {**uids, self.box.name: "box"}),
            "plans": [plan.get("status", {}).get("phase") for plan in plans],
        }


def _state(workload: Json) -> Json:
    status = workload["status"]
    conditions = {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in status["conditions"]
        if each["type"] != FENCED
    }
    checks = {
        each["name"]: (each["state"], each.get("retryCount")) for each in status.get("admissionChecks", [])
    }
    return {
        "active": workload["spec"].get("active", True),
        "conditions": conditions,
        "checks": checks,
        **{name: status.get(name) for name in ("admission", "requeueState", "schedulingStats")},
    }


def _renamed(found: Any, names: dict[str, str]) -> Any:
    match found:
        case dict():
            return {_renamed(key, names): _renamed(value, names) for key, value in found.items()}
        case list() | tuple():
            return [_renamed(each, names) for each in found]
        case str():
            for name, other in names.items():
                found = found.replace(name, other)
        case _:
            pass
    return found


def live(plane: ControlPlane, name: str, deaths: Sequence[str]) -> Lives:
    """Let the Workloads live while processes die. The last process may still have something to write."""
    to_come = [{"REPRIEVE_FAILPOINTS": each} for each in deaths] + [{}]
    if plane.reprieve.running:
        plane.reprieve.kill()
    lives = Lives(plane, name)
    plane.reprieve.environment = to_come.pop(0)
    plane.start_reprieve(wait=False)
    began = time.monotonic()
    while not lives.go_on() or to_come:
        late = time.monotonic() > began + PATIENCE_SECONDS  # it takes a while to start on a busy machine
        assert not late, f"{len(to_come)} are to come: {lives.box.report()}"
        if not plane.reprieve.running:
            assert plane.reprieve.wait(1) == -signal.SIGKILL
            plane.reprieve.environment = to_come.pop(0)
            plane.start_reprieve(wait=False)
            began = time.monotonic()
        time.sleep(POLL_SECONDS)
    return lives


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    return start_plane(Options(**{**QUOTA, "start_reprieve": False}))


@pytest.fixture(scope="module")
def undisturbed(plane: ControlPlane) -> Lives:
    """A run in which nobody dies. Its last texts may be written late, and by a later process."""
    lives = live(plane, "undisturbed", [])
    lives.box.rest()
    return lives


@pytest.mark.parametrize("deaths", DEATHS.values(), ids=DEATHS)
def test_the_end_is_that_of_an_undisturbed_run(
    plane: ControlPlane, undisturbed: Lives, deaths: list[str]
) -> None:
    """The last process may not have started yet, and so a quiet API server does not mean that this is the end."""
    killed = live(plane, "killed", deaths)

    def differences() -> list[str]:
        return list(_differences(killed.end(), undisturbed.end()))

    wait_for(lambda: not differences(), PATIENCE_SECONDS, lambda: "\n".join(differences()))
    killed.box.rest()
    assert differences() == [], "it does not stay so"


def _differences(found: Any, expected: Any, path: str = "") -> Iterator[str]:
    """Each one by itself: pytest cuts what is deep in an object."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in found.keys() | expected.keys():
            yield from _differences(found.get(key), expected.get(key), f"{path}.{key}")
    elif found != expected:
        yield f"{path}: {found!r}, and undisturbed {expected!r}"
