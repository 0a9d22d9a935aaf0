"""The worker clusters of a manager: whether they are reached, what they have, and whose turn it is to preempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from answers.errors import InputError
from answers.worker_clusters import WorkerClusters, is_over, turns_of
from api.checks import MultiKueueConfig
from api.dispatch import DispatchPlan
from api.workloads import FINISHED, Workload
from quota.state.workloads import true_condition

__all__ = ["AllClusters", "Cluster", "clusters"]

State = Literal["Active", "Inactive", "Unknown", "Missing"]
"""Unknown: nobody has written whether it is active. Missing: something names it, and there is no such object."""
Gates = Literal["Honoured", "NotHonoured", "Unknown"]
MISSING: Final = "there is no MultiKueueCluster of this name"
UNSAID: Final = "no manager has written a condition Active"


@dataclass(frozen=True, slots=True)
class Cluster:
    """One of them. Workloads are `namespace/name`."""

    name: str
    state: State
    reason: str
    message: str
    since: str
    """Since when it is in this state (RFC 3339); empty if nothing says so."""
    gates: Gates
    """Whether its quota controller honours preemption gates."""
    gates_message: str
    configs: tuple[str, ...]
    """The MultiKueueConfigs that name it."""
    offered: tuple[str, ...]
    """Workloads that have no cluster yet, and that it may get."""
    has: tuple[str, ...]
    """Workloads that have this cluster, and have not finished."""
    turns: tuple[DispatchPlan, ...]
    """Turns to preempt that last."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.name,
            "state": self.state,
            "reason": self.reason,
            "message": self.message,
            "since": self.since,
            "gates": self.gates,
            "gatesMessage": self.gates_message,
            "configs": list(self.configs),
            "nominated": list(self.offered),
            "running": list(self.has),
            "turns": [
                {
                    "workload": f"{each.metadata.namespace}/{each.spec.workload.name}",
                    "number": each.spec.number,
                    "began": each.spec.began,
                    "until": each.spec.until,
                    "plan": each.metadata.name,
                }
                for each in self.turns
            ],
        }


@dataclass(frozen=True, slots=True)
class AllClusters:
    """All that were asked for."""

    clusters: tuple[Cluster, ...]

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {"clusters": [each.plain() for each in self.clusters]}


def clusters(
    known: WorkerClusters,
    configs: Mapping[str, MultiKueueConfig],
    workloads: Iterable[Workload],
    name: str | None = None,
) -> AllClusters:
    """All clusters that there are, or that a MultiKueueConfig or a Workload names; or the one called `name`.

    Raises InputError if there is no cluster of that name.
    """
    offered, has, turns = dict[str, list[str]](), dict[str, list[str]](), dict[str, list[DispatchPlan]]()
    for each in workloads:
        if true_condition(each, FINISHED) is not None:
            continue
        key = f"{each.metadata.namespace}/{each.metadata.name}"
        for nominated in each.status.nominated_cluster_names or ():
            offered.setdefault(nominated, []).append(key)
        if chosen := each.status.cluster_name:
            has.setdefault(chosen, []).append(key)
        else:
            for turn in _open_turns(known.plans, each):
                turns.setdefault(turn.spec.cluster, []).append(turn)
    named = {
        cluster: sorted(config for config, each in configs.items() if cluster in _clusters_of(each))
        for cluster in {found for each in configs.values() for found in _clusters_of(each)}
    }
    names = sorted({*known.clusters, *named, *offered, *has})
    if name is not None and name not in names:
        raise InputError(f"there is no MultiKueueCluster {name}")
    return AllClusters(
        tuple(
            _cluster(
                known,
                each,
                named.get(each, ()),
                offered.get(each, ()),
                has.get(each, ()),
                turns.get(each, ()),
            )
            for each in names
            if name in (None, each)
        )
    )


def _cluster(
    known: WorkerClusters,
    name: str,
    configs: Sequence[str],
    offered: Sequence[str],
    has: Sequence[str],
    turns: Sequence[DispatchPlan],
) -> Cluster:
    active, gates = known.active(name), known.gates(name)
    state: State = "Unknown"
    reason, message, since = "", UNSAID, ""
    if name not in known.clusters:
        state, message = "Missing", MISSING
    elif active is not None:
        state = "Active" if active.status == "True" else "Inactive"
        reason, message, since = active.reason, active.message, active.last_transition_time or ""
    honours: Gates = "Unknown"
    if gates is not None and gates.status != "Unknown":
        honours = "Honoured" if gates.status == "True" else "NotHonoured"
    return Cluster(
        name,
        state,
        reason,
        message,
        since,
        honours,
        gates.message if gates is not None else "",
        tuple(configs),
        tuple(sorted(offered)),
        tuple(sorted(has)),
        tuple(sorted(turns, key=lambda each: (each.spec.until, each.metadata.name))),
    )


def _open_turns(plans: Sequence[DispatchPlan], workload: Workload) -> Sequence[DispatchPlan]:
    """The turn of the Workload that lasts. An older one is over, even if its status does not say so yet."""
    return [each for each in turns_of(plans, workload)[-1:] if not is_over(each)]


def _clusters_of(config: MultiKueueConfig) -> Sequence[str]:
    return config.spec.clusters if config.spec is not None else ()
