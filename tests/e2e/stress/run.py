"""One run: random load on a control plane, then rest, then the judgement of watch and audit log."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from hack.controlplane.plane import ControlPlane
from hack.controlplane.processes import wait_until
from tests.e2e.natives import GENERIC_WORKLOAD
from tests.e2e.other_kinds import NATIVE
from tests.e2e.stress.actions import ACTIONS, Action
from tests.e2e.stress.cluster import GATED, SECOND_SCHEDULER, Cluster
from tests.e2e.stress.mirrors import showing, wrong_mirrors
from tests.e2e.stress.owners import TRAINING, serves
from tests.e2e.stress.recorder import Recorder, look_around
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.stress import evictions, marked, rest, scheduler_evictions, vain
from tests.kit.stress.history import History
from tests.kit.stress.kept_room import KeptRoom, kept_room, worked_on
from tests.kit.stress.natives import is_native, show_natives, show_natives_at_rest
from tests.kit.stress.owned import show_groups, show_groups_at_rest
from tests.kit.stress.pieces import Piece, in_pieces, skipped
from tests.kit.stress.rest import Rest
from tests.kit.stress.scheduler_evictions import Told

__all__ = [
    "OPTIONS",
    "OWNERS",
    "REPLICATED",
    "SHORT_REST",
    "STEP_SECONDS",
    "Result",
    "has_natives",
    "judge",
    "load_for",
    "serve_owners",
    "stress",
    "take_step",
    "with_natives",
]

STEP_SECONDS: Final = 0.15
REST_SECONDS: Final = 30.0
SHORT_REST: Final = 5.0
"""What is wrong after it is looked at again until it is right, or until it has stayed wrong for long."""
LOOK_SECONDS: Final = 2.0

OPTIONS: Final[dict[str, Any]] = {
    "reprieve": True,
    "schedulers": (SECOND_SCHEDULER,),
    "reprieve_settings": {
        "planning": {
            "planDeadlineSeconds": 20,
            "overdueSeconds": 5,
            "confirmationSeconds": 2,
            "backoffMaxSeconds": 10,
            "exclusionSeconds": 20,
        },
        "groups": {"byOwner": "Gangs"},
    },
    **showing(),
}
"""Of the plane (see `hack.controlplane.components.Options`). Lives are short, so that a run has many."""


REPLICATED: Final[dict[str, Any]] = {**OPTIONS, "replicas": 2}
"""The same with two processes of reprieve."""


def with_natives(options: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """Options of a plane whose scheduler has groups of its own. `mode`: `planning.nativeGroups`.

    A group that was turned down comes back after ten seconds at most.
    """
    settings = options["reprieve_settings"]
    return {
        **options,
        "reprieve_settings": {**settings, "planning": {**settings["planning"], "nativeGroups": mode}},
        "feature_gates": {GENERIC_WORKLOAD: True},
        "runtime_config": {NATIVE: True},
        "scheduler_settings": {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 4},
    }


OWNERS: Final = (("v1", "Namespace"), ("batch/v1", "Job"), (TRAINING, "PyTorchJob"))
"""What says something of groups by owner."""


@dataclass(frozen=True)
class Result:
    """The result of a run."""

    seed: int
    steps: int
    deletions: int
    """That reprieve asked for."""
    plans: int
    violations: list[str]
    """Must be empty."""
    late: list[str]
    """What was wrong after the rest, and right when it was waited for."""
    pieces: list[str]
    """Gangs that never ran whole and are bound in part, and why."""
    unexplained: list[str]
    """Members of them that were bound for no reason that is known: our fault, or that of who looks for reasons."""
    in_vain: dict[str, list[str]]
    """By gang: plans that evicted and came to nothing."""
    by_scheduler: int = 0
    """Pods that kube-scheduler evicted for groups of its own."""
    unplanned: Sequence[str] = ()
    """Those among them that a steered plan does not name, and that it recorded."""

    def __str__(self) -> str:
        worst = max(map(len, self.in_vain.values()), default=0)
        lines = [
            f"seed {self.seed}: {self.steps} steps, {self.plans} plans, {self.deletions} pods evicted, "
            f"{self.by_scheduler} by kube-scheduler for its own groups, {len(self.unplanned)} not planned",
            f"{len(self.violations)} violations, {len(self.late)} late, {len(self.pieces)} gangs in pieces, "
            f"plans in vain: {sum(map(len, self.in_vain.values()))}, at most {worst} of one gang",
            *(f"violation: {each}" for each in self.violations),
            *(f"late: {each}" for each in self.late),
            *(f"in pieces: {each}" for each in self.pieces),
            *(f"unexplained: {each}" for each in self.unexplained),
            *(f"not planned: {each}" for each in self.unplanned),
            *(f"in vain: {gang}: {', '.join(each)}" for gang, each in self.in_vain.items()),
        ]
        return "\n".join(lines)


def stress(
    plane: ControlPlane,
    seed: int,
    seconds: float,
    *,
    actions: Mapping[Action, int] = ACTIONS,
    rest_seconds: float = REST_SECONDS,
) -> Result:
    """Load the plane for `seconds` seconds, and see what is wrong after a rest."""
    print(f"\nstress for {seconds:.0f} s with seed {seed}", flush=True)
    return judge(plane, seed, partial(load_for, seconds=seconds, actions=actions), rest_seconds)


def judge(
    plane: ControlPlane,
    seed: int,
    load: Callable[[Cluster], object],
    rest_seconds: float = SHORT_REST,
    *,
    bound: Collection[str] = (),
    gated: float = GATED,
    more: Callable[[History], Iterable[str]] = lambda _: (),
) -> Result:
    """Do something to a new plane, and see what is wrong after a rest.

    `bound`: pods that have a node then. `gated`: see `Cluster`. `more`: what else is wrong with a history.
    """
    cluster = Cluster(plane, random.Random(seed), gated=gated)
    serve_owners(cluster)
    recorder = Recorder(plane, OWNERS, native=has_natives(plane))
    cluster.prepare()
    try:
        load(cluster)
        cluster.clear()
        serve_owners(cluster)
        late, left = _rest(plane, rest_seconds, bound)
        history = recorder.history()
    finally:
        recorder.close()
    history.write(plane.layout.logs / "history.jsonl")
    show_natives(history)
    show_groups(history)
    skips, kept = _skipped(plane), _kept_room(plane, history)
    found = in_pieces(_ours(_look_around(plane)), history, skips)
    return Result(
        seed=seed,
        steps=cluster.step,
        deletions=len(history.deletions),
        plans=len(history.states["PreemptionPlan"]),
        violations=[*_wrong(history, Told(skips, _holds(plane), kept)), *more(history), *left],
        late=late,
        pieces=[str(each) for each in found],
        unexplained=_unexplained(found),
        in_vain=vain.in_vain(history),
        by_scheduler=len(scheduler_evictions.taken(history)),
        unplanned=scheduler_evictions.unplanned(history),
    )


def load_for(cluster: Cluster, seconds: float, actions: Mapping[Action, int]) -> None:
    """One action a step. What the steps are is the seed's word; how many there are is the machine's."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        take_step(cluster, actions)
        time.sleep(STEP_SECONDS)


def take_step(cluster: Cluster, actions: Mapping[Action, int] = ACTIONS) -> None:
    """What is due now, and one action."""
    cluster.step += 1
    for what in cluster.later.pop(cluster.step, ()):
        what()
    (action,) = cluster.rng.choices(list(actions), list(actions.values()))
    action(cluster)


def _rest(plane: ControlPlane, seconds: float, bound: Collection[str]) -> tuple[list[str], list[str]]:
    """What is wrong after the rest but not for ever, and what stays wrong however long one waits."""
    time.sleep(seconds)
    first = left = _left(plane, bound)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while left and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
        now = _left(plane, bound)
        left = [each for each in left if each in now]
    return [each for each in first if each not in left], left


def _left(plane: ControlPlane, bound: Collection[str]) -> list[str]:
    around = _look_around(plane)
    wrong = [wrong for check in rest.CHECKS for wrong in check(around)]
    return [*wrong, *rest.unbound(around, bound), *wrong_mirrors(plane)]


def _look_around(plane: ControlPlane) -> Rest:
    """The whole cluster, with the groups that are so by their owners."""
    spaces, *owners = (
        [{**each, "kind": kind} for each in plane.client.list(version, kind)] for version, kind in OWNERS
    )
    around = look_around(plane.client)
    if has_natives(plane):
        around = show_natives_at_rest(around, plane.client.list(NATIVE, "PodGroup"))
    return show_groups_at_rest(around, [each for found in owners for each in found], spaces)


def _ours(around: Rest) -> Rest:
    """Without native groups: kube-scheduler tries these as one, and a piece of one is its own."""
    groups = [each for each in around.groups if not is_native(each)]
    return Rest(around.pods, around.nodes, groups, around.plans, around.classes)


def has_natives(plane: ControlPlane) -> bool:
    """Whether the scheduler has groups of its own."""
    return bool((plane.layout.options.feature_gates or {}).get(GENERIC_WORKLOAD))


def _holds(plane: ControlPlane) -> bool:
    """Whether native gangs are held without a plan."""
    planning: Any = (plane.layout.options.reprieve_settings or {}).get("planning", {})
    return bool(planning.get("nativeGroups") != "Off")


def serve_owners(cluster: Cluster) -> None:
    """Wait until PyTorchJobs are served."""
    wait_until(lambda: serves(cluster), PATIENCE_SECONDS, "the CRD is not served".__str__)


def _wrong(history: History, told: Told) -> list[str]:
    checks = (*evictions.CHECKS, *marked.CHECKS, vain.too_often_in_vain)
    found = [wrong for check in checks for wrong in check(history)]
    return found + [wrong for judge in scheduler_evictions.CHECKS for wrong in judge(history, told)]


def _skipped(plane: ControlPlane) -> dict[str, list[float]]:
    """When the scheduler went on without reprieve, by pod."""
    with (plane.layout.logs / "kube-scheduler.log").open() as log:
        return skipped(log, datetime.now(UTC).year)


def _kept_room(plane: ControlPlane, history: History) -> list[KeptRoom]:
    """What the scheduler counted for pods that were gone."""
    with (plane.layout.logs / "kube-scheduler.log").open() as log:
        return kept_room(history, worked_on(log, datetime.now(UTC).year))


def _unexplained(found: list[Piece]) -> list[str]:
    return [
        f"pod {name} of gang {piece.group} was bound, and the gang never ran whole"
        for piece in found
        for name in piece.unexplained
    ]
