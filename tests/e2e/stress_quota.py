"""Random load on the queues of a control plane of its own, judged by the watch history.

python -m tests.e2e.stress_quota [--seconds S] [--seed K]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from api.times import rfc3339
from hack.controlplane.client import ApiError, Json
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.quota_recorder import QuotaRecorder
from tests.e2e.quota_sandbox import KUEUE, QUOTA, QuotaSandbox
from tests.e2e.support import REPRIEVE
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.quota_rest import stuck
from tests.kit.quota_rules import CHECKS

__all__ = ["OPTIONS", "Result", "stress"]

OPTIONS: Final = QUOTA
STEP_SECONDS: Final = 0.05
LOOK_SECONDS: Final = 0.5
QUIET_SECONDS: Final = 3.0
MOST: Final = 40
"""So many Workloads stay. Then one goes before a new one comes."""
PRIORITIES: Final = (0, 0, 10, 10, 20, 50)
EVICTED, HOLDING = "Evicted", "QuotaReserved"
PASSED: Final = frozenset({404, 409, 422})
"""Somebody else was faster."""


@dataclass(frozen=True)
class Result:
    """What came of a run."""

    seed: int
    steps: int
    kills: int
    evictions: int
    violations: list[str]
    """Must be empty."""

    def __str__(self) -> str:
        first = (
            f"seed {self.seed}: {self.steps} steps, {self.evictions} evictions, {self.kills} processes killed, "
            f"{len(self.violations)} violations"
        )
        return "\n".join([first, *(f"violation: {each}" for each in self.violations)])


class Load:
    """Users, makers of Workloads, and a controller of a check. The random numbers decide what they do."""

    def __init__(self, plane: ControlPlane, rng: random.Random) -> None:
        self.plane, self.rng, self.steps, self.kills = plane, rng, 0, 0
        self._made = 0
        self._box = QuotaSandbox(plane, "stress")
        self._check = self._box.check("check")
        self._queues = self._make_queues()
        self._actions: dict[Callable[[], object], int] = {
            self._create: 30,
            self._delete: 5,
            self._activate: 4,
            self._change_priority: 8,
            self._finish: 12,
            self._hold: 1,
            self._kill: 1,
        }

    def _make_queues(self) -> list[str]:
        box, names = self._box, ["best", "strict", "guest", "checked"]
        within: Json = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
        equal: Json = {
            "withinClusterQueue": "LowerOrNewerEqualPriority",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 20},
            "reclaimWithinCohort": "LowerPriority",
        }
        checks: Json = {"admissionChecks": [{"name": self._check}]}
        box.queue("best", 6, cohort="team", preemption=within)
        box.queue("strict", 4, cohort="team", preemption=within, queueingStrategy="StrictFIFO")
        box.queue("guest", 1, cohort="team", borrowing=5, preemption=equal)
        box.queue("checked", 4, cohort="other", preemption=within, admissionChecksStrategy=checks)
        return names

    # ---- users

    def step(self) -> None:
        """One action of a user, and what others do about what they see."""
        self.steps += 1
        (action,) = self.rng.choices(list(self._actions), list(self._actions.values()))
        self._try(action)
        self.react(0.1)

    def _create(self) -> None:
        rng = self.rng
        if len(self._all()) >= MOST:
            self._delete()
        self._made += 1
        name, queue = f"w{self._made}", rng.choice(self._queues)
        self._box.workload(name, queue, rng.choice((1, 1, 2, 3, 5)), priority=rng.choice(PRIORITIES))

    def _delete(self) -> None:
        if found := self._all():
            self._box.client.delete(KUEUE, "Workload", _name(self.rng.choice(found)), self._box.name)

    def _activate(self) -> None:
        """Deactivate a Workload, or activate it again once its quota is given back."""
        if found := [each for each in self._all() if _active(each) or not _is_true(each, HOLDING)]:
            chosen = self.rng.choice(found)
            self._box.patch_spec("Workload", _name(chosen), {"active": not _active(chosen)}, namespaced=True)

    def _change_priority(self) -> None:
        if found := self._all():
            spec = {"priority": self.rng.choice(PRIORITIES)}
            self._box.patch_spec("Workload", _name(self.rng.choice(found)), spec, namespaced=True)

    def _finish(self) -> None:
        if found := [
            each for each in self._all() if _is_true(each, "Admitted") and not _is_true(each, EVICTED)
        ]:
            self._set(self.rng.choice(found), {"Finished": ("True", "Succeeded")})

    def _hold(self) -> None:
        """Stop a ClusterQueue, or let it go on."""
        policy = self.rng.choice(("None", "None", "Hold", "HoldAndDrain"))
        self._box.patch_spec(
            "ClusterQueue", self._box.of(self.rng.choice(self._queues)), {"stopPolicy": policy}
        )

    def _kill(self) -> None:
        self.plane.reprieve.kill()
        self.kills += 1
        self.plane.start_reprieve(wait=False)

    # ---- makers and the controller of the check

    def react(self, chance: float) -> None:
        """End evicted Workloads and answer checks, each with this chance."""
        for each in self._all():
            if self.rng.random() >= chance or not _is_true(each, HOLDING):
                continue
            if _is_true(each, EVICTED):
                self._try(partial(self._end, each))
            elif any(check["state"] == "Pending" for check in each["status"].get("admissionChecks", [])):
                self._try(partial(self._answer, each))

    def _end(self, workload: Json) -> None:
        self._set(workload, {HOLDING: ("False", "Pending")}, admission=None)

    def _answer(self, workload: Json) -> None:
        (state,) = self.rng.choices(["Ready", "Retry", "Rejected"], [10, 4, 1])
        now = rfc3339(time.time())
        answer: Json = {"name": self._check, "state": state, "message": "", "lastTransitionTime": now}
        if state == "Retry":
            answer["requeueAfterSeconds"] = self.rng.choice((0, 1, 2))
        self._write(workload, {"admissionChecks": [answer]})

    # ---- the end

    def settle(self) -> None:
        """Nothing new happens, and all queues are open."""
        for queue in self._queues:
            self._box.patch_spec("ClusterQueue", self._box.of(queue), {"stopPolicy": "None"})
        deadline, quiet = time.monotonic() + PATIENCE_SECONDS, time.monotonic() + QUIET_SECONDS
        before: list[Json] = []
        while time.monotonic() < min(deadline, quiet):
            self.react(1.0)
            found = self._all() + self._box.client.list(REPRIEVE, "PreemptionPlan", self._box.name)
            if found != before:
                before, quiet = found, time.monotonic() + QUIET_SECONDS
            time.sleep(LOOK_SECONDS)

    # ---- inside

    def _all(self) -> list[Json]:
        """All Workloads that have not finished, in the order of their names."""
        found = self._box.client.list(KUEUE, "Workload", self._box.name)
        return sorted((each for each in found if not _is_true(each, "Finished")), key=_name)

    def _set(self, workload: Json, values: dict[str, tuple[str, str]], **status: Any) -> None:
        now = rfc3339(time.time())
        others = [each for each in workload["status"]["conditions"] if each["type"] not in values]
        mine = [
            {"type": kind, "status": value, "reason": reason, "message": "", "lastTransitionTime": now}
            for kind, (value, reason) in values.items()
        ]
        self._write(workload, {"conditions": [*others, *mine], **status})

    def _write(self, workload: Json, status: Json) -> None:
        body = {"metadata": {"resourceVersion": workload["metadata"]["resourceVersion"]}, "status": status}
        self._box.client.patch(KUEUE, "Workload", _name(workload), body, self._box.name, "status")

    def _try(self, action: Callable[[], object]) -> None:
        try:
            action()
        except ApiError as error:
            if error.status not in PASSED:
                raise


def stress(plane: ControlPlane, seed: int, seconds: float) -> Result:
    """Load the plane for so long, and see what is wrong afterwards."""
    print(f"\nstress of queues for {seconds:.0f} s with seed {seed}", flush=True)
    recorder = QuotaRecorder(plane.client)
    try:
        load, deadline = Load(plane, random.Random(seed)), time.monotonic() + seconds
        while time.monotonic() < deadline:
            load.step()
            time.sleep(STEP_SECONDS)
        plane.wait_reprieve()
        load.settle()
        left = _left(recorder, load)
        history = recorder.history()
    finally:
        recorder.close()
    history.write(plane.layout.logs / "history.jsonl")
    wrong = [each for check in CHECKS for each in check(history)]
    return Result(seed, load.steps, load.kills, len(history.evictions()), [*wrong, *left])


def _left(recorder: QuotaRecorder, load: Load) -> list[str]:
    """Who stays stuck, however long one waits."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    left = _stuck(recorder)
    while left and time.monotonic() < deadline:
        load.settle()
        now = _stuck(recorder)
        left = [each for each in left if each in now]
    return left


def _stuck(recorder: QuotaRecorder) -> list[str]:
    return stuck(recorder.history(), round(time.time() * 1_000_000))


def _name(workload: Json) -> str:
    name: str = workload["metadata"]["name"]
    return name


def _active(workload: Json) -> bool:
    return bool(workload["spec"].get("active", True))


def _is_true(workload: Json, kind: str) -> bool:
    conditions = workload.get("status", {}).get("conditions", [])
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


@click.command()
@click.option("--seconds", type=click.IntRange(1), default=60, show_default=True, help="Of load.")
@click.option("--seed", type=int, default=None, help="Decides what is done. Default: another one each time.")
def main(seconds: int, seed: int | None) -> None:
    """Load the queues of a control plane at random, and judge what reprieve did by the watch."""
    seed = random.randrange(1 << 32) if seed is None else seed
    plane = ControlPlane(Path(tempfile.mkdtemp(prefix="reprieve-stress-")), Options(**OPTIONS))
    with plane:
        result = stress(plane, seed, seconds)
    click.echo(result)
    if result.violations:
        click.echo(f"the logs and the history are in {plane.layout.logs}", err=True)
    else:
        plane.discard()
    sys.exit(bool(result.violations))


if __name__ == "__main__":
    main(prog_name="python -m tests.e2e.stress_quota")
