"""One run beside an observer: random load, faults of its processes, and the account judged at rest."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from hack.controlplane.components import OBSERVER_FOLDERS
from hack.controlplane.plane import ControlPlane
from tests.e2e.audit import beyond_an_observer
from tests.e2e.stress.actions import (
    Action,
    kill,
    pause,
    refuse_bindings,
    refuse_deletion,
    refuse_status,
)
from tests.e2e.stress.cluster import Cluster
from tests.e2e.stress.faults import ask_to_leave, cut_off, edit_lease, restart_api_server
from tests.e2e.stress.owners import ACTIONS_OF_OWNERS
from tests.e2e.stress.recorder import Recorder
from tests.e2e.stress.run import OWNERS, REPLICATED, STEP_SECONDS, has_natives, serve_owners, take_step
from tests.kit.stress import account
from tests.kit.stress.natives import show_natives
from tests.kit.stress.owned import show_groups

__all__ = ["OBSERVER", "OFTEN", "RARE", "Observed", "actions_of", "judge", "observe"]

EPISODE_SECONDS: Final = 15
QUIET_SECONDS: Final = account.SAY_SECONDS + 5.0

OBSERVER: Final[dict[str, Any]] = {
    **REPLICATED,
    "manifests": OBSERVER_FOLDERS,
    "reprieve_settings": {
        "planning": {"mode": "Observe"},
        "observing": {"episodeSeconds": EPISODE_SECONDS},
        "groups": {"byOwner": "Gangs"},
    },
}
"""Of the plane. Two processes observe."""

FAULTS: Final = (kill, pause, ask_to_leave, cut_off, edit_lease, restart_api_server)
"""A process dies, stands still, ends, reaches nothing; the election is disturbed; nothing is watched for a while."""
RARE: Final = 1.0
"""Faults a minute. Each history has one at least."""
OFTEN: Final = 6.0


def actions_of(more: Mapping[Action, int]) -> dict[Action, int]:
    """How often, in relation to one another. `more`: in place of those with owners, or beside them."""
    without = (refuse_deletion, refuse_status, refuse_bindings, *FAULTS)
    return {**{each: of for each, of in ACTIONS_OF_OWNERS.items() if each not in without}, **more}


@dataclass(frozen=True)
class Observed:
    """The result of a run."""

    seed: int
    steps: int
    account: account.Verdict
    written: list[str]
    """What reprieve has sent that an observer must not send."""
    faults: Sequence[str] = ()
    """What was done to processes, and after how many seconds."""

    @property
    def violations(self) -> list[str]:
        """Must be empty."""
        return [*self.account.violations, *self.written]

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.steps} steps; {self.account}; faults: {', '.join(self.faults)}"]
        return "\n".join([*lines, *(f"violation: {each}" for each in self.violations)])


def observe(
    plane: ControlPlane, seed: int, seconds: float, actions: Mapping[Action, int], a_minute: float
) -> Observed:
    """Load the plane for `seconds` seconds, with `a_minute` faults a minute, and judge the account after a rest."""
    print(f"\nobserve for {seconds:.0f} s with seed {seed}", flush=True)
    faults = list[str]()
    load = partial(_load, seconds=seconds, actions=actions, a_minute=a_minute, faults=faults)
    return replace(judge(plane, seed, load), faults=faults)


def judge(plane: ControlPlane, seed: int, load: Callable[[Cluster], object]) -> Observed:
    """Do something to a new plane, and judge the account after a rest."""
    cluster = Cluster(plane, random.Random(seed), gated=0.0)
    serve_owners(cluster)
    recorder = Recorder(plane, OWNERS, native=has_natives(plane))
    cluster.prepare()
    try:
        load(cluster)
        cluster.clear()
        serve_owners(cluster)
        time.sleep(QUIET_SECONDS)
        until = time.time()
        history = recorder.history()
    finally:
        recorder.close()
    history.write(plane.layout.logs / "history.jsonl")
    show_natives(history)
    show_groups(history)
    return Observed(
        seed,
        cluster.step,
        account.judge(history, EPISODE_SECONDS, until),
        beyond_an_observer(plane.audit_log),
    )


def _load(
    cluster: Cluster, seconds: float, actions: Mapping[Action, int], a_minute: float, faults: list[str]
) -> None:
    """The names of the faults are added to `faults`."""
    began, count = time.monotonic(), max(1, round(a_minute * seconds / 60.0))
    moments = sorted(cluster.rng.uniform(0.1, 0.9) * seconds for _ in range(count))
    while (passed := time.monotonic() - began) < seconds:
        if moments and moments[0] <= passed:
            moments.pop(0)
            fault = cluster.rng.choice(FAULTS)
            faults.append(f"{fault.__name__} after {passed:.0f} s")
            fault(cluster)
        take_step(cluster, actions)
        time.sleep(STEP_SECONDS)
