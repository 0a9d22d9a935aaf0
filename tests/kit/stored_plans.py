"""Stored plans of every kind, who may read them, and clusters that have them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from answers.names import EVERYWHERE, Listed
from answers.plan import plan as decided
from answers.reading.page_objects import PageObjects
from answers.reading.quota_objects import read_time
from api.dispatch import (
    DispatchedWorkload,
    DispatchPlan,
    DispatchPlanSpec,
    DispatchPlanStatus,
    WorkerCluster,
)
from api.groups import API_VERSION
from api.meta import Condition, ObjectMeta
from api.plan_results import PlanCost
from api.plans import (
    PreemptionPlan,
    PreemptionPlanSpec,
    PreemptionPlanStatus,
    Preemptor,
    Victim,
    VictimPod,
    VictimQuota,
)

__all__ = [
    "BOUND",
    "DRIVEN",
    "HERO",
    "JOB",
    "NOW",
    "OBSERVED",
    "PROPOSED",
    "STEERED",
    "SWEEP",
    "TUNE",
    "Tenant",
    "read",
    "stored",
    "training",
    "turn",
]

ROOT: Final = Path(__file__).parents[2]
NOW: Final = "2026-03-01T12:00:00Z"
HERO: Final = Preemptor("PodGroup", API_VERSION, "team-a", "hero", "uid-hero", 1000)
TUNE: Final = Preemptor("Workload", "kueue.x-k8s.io/v1beta2", "team-a", "tune", "uid-tune", 50)
PODS: Final = [VictimPod("team-b", f"sweep-{each}", f"uid-{each}", f"n{each}") for each in range(2)]
SWEEP: Final = Victim("PodGroup", "team-b", "sweep", "uid-sweep", 10, False, PODS)
QUOTA: Final = VictimQuota("InCohortReclamation", "guest", "/team/guest", NOW)
JOB: Final = Victim("Workload", "team-b", "job", "uid-job", 0, False, [], QUOTA)
CLUSTER: Final = ROOT / "examples" / "training-cluster.yaml"


class Tenant:
    """A reader of namespaces, who may list some kinds everywhere besides."""

    def __init__(self, *namespaces: str, everywhere: Sequence[Listed] = ()) -> None:
        self._namespaces, self._everywhere = namespaces, everywhere

    def lists(self, what: Listed, namespace: str = EVERYWHERE) -> bool:
        """See `Names`."""
        return what in self._everywhere or namespace in self._namespaces


def stored(
    name: str = "hero-1",
    *phases: str,
    victims: Sequence[Victim] = (SWEEP,),
    preemptor: Preemptor = HERO,
    because: str = "",
    **spec: Any,
) -> PreemptionPlan:
    """A plan that came to these phases, a second after one another."""
    made = PreemptionPlanSpec(
        preemptor, **{"outcome": "Preempts", "reason": "it fits", "victims": [*victims], **spec}
    )
    conditions = [
        Condition(each, "True", because or each, f"this is {each}", f"2026-03-01T11:00:0{at + 1}Z")
        for at, each in enumerate(phases)
    ]
    phase: Any = phases[-1] if phases else None
    return PreemptionPlan(
        metadata=ObjectMeta(name=name, namespace="team-a", creation_timestamp="2026-03-01T11:00:00Z"),
        spec=made,
        status=PreemptionPlanStatus(phase=phase, conditions=conditions),
    )


def turn(number: int = 1, **status: Any) -> DispatchPlan:
    """A turn of a worker cluster for the Workload tune."""
    clusters = [
        WorkerCluster("east", "asks", 0, 1, PlanCost(10, 20, 2, 8, 60)),
        WorkerCluster("west", "", 0, 0),
    ]
    spec = DispatchPlanSpec(
        DispatchedWorkload("tune", "uid-tune", NOW, 50), number, "east", "LeastDisruption",
        "it costs least.", f"2026-03-01T11:0{number}:00Z", NOW, clusters,
    )  # fmt: skip
    meta = ObjectMeta(name=f"tune-turn-{number}", namespace="team-a")
    return DispatchPlan(metadata=meta, spec=spec, status=DispatchPlanStatus(**status) if status else None)


OBSERVED: Final = stored("hero-observed", "Observed", mode="Observe")
PROPOSED: Final = stored(
    "tune-proposed",
    "Proposed",
    preemptor=TUNE,
    outcome="Proposes",
    victims=[JOB],
    cost=PlanCost(0, 0, 1, 2, 60),
)
STEERED: Final = stored(
    "hero-steered", "Planned", "Evicting", evicted_by="Scheduler", evictor_reason="SameVictims"
)
DRIVEN: Final = stored("hero-driven", "Planned", evicted_by="Reprieve", evictor_reason="DriveMode")
BOUND: Final = stored("hero-bound", "Planned", "Confirmed", "Evicting", "Ready", "Bound")


def read(*objects: Any, files: Sequence[Path] = ()) -> PageObjects:
    """A cluster with these objects, and what the files have."""
    found = PageObjects(read_time(NOW, "now"))
    for path in files:
        found.add_file(path.read_bytes(), str(path))
    items = {"apiVersion": "v1", "kind": "List", "items": [msgspec.to_builtins(each) for each in objects]}
    found.add_file(json.dumps(items).encode(), "objects")
    return found


def training(*phases: str, **spec: Any) -> tuple[PreemptionPlan, PageObjects]:
    """The example, and the plan that reprieve makes of it, as far as these phases."""
    objects = read(files=[CLUSTER])
    made = decided(objects.picture().nodes, "research", "llama-train").spec
    plan = stored("train-1", *phases)
    plan = msgspec.structs.replace(plan, spec=msgspec.structs.replace(made, **spec))
    plan.metadata.namespace = "research"
    return plan, read(plan, files=[CLUSTER])
