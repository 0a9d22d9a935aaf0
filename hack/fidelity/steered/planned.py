"""What we plan for a gang of kube-scheduler's own kind, from the objects of an API server."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from answers.reading.documents import JsonDocument
from answers.reading.node_objects import NodeObjects
from api.plans import PreemptionPlanSpec
from hack.controlplane.client import Json
from nodes.groups.forms import ALL_PREEMPTING
from nodes.groups.keys import NATIVE
from nodes.search.decision import group_decision
from nodes.search.preemptors.preemptor import Preemptor, group_preemptor
from nodes.search.steering.weighing import Weighing
from nodes.state.snapshot import Snapshot

__all__ = ["Planned", "plan_for"]


@dataclass(frozen=True)
class Planned:
    """A plan, and the cluster that it was made for. Pods and nodes have their names."""

    spec: PreemptionPlanSpec
    snapshot: Snapshot
    preemptor: Preemptor

    @property
    def places(self) -> bool:
        """Whether the plan places the gang."""
        return self.spec.outcome in ("Fits", "Preempts")

    @property
    def steered(self) -> bool:
        """Whether the scheduler is to evict."""
        return self.spec.evicted_by == "Scheduler"

    @property
    def offers(self) -> dict[str, str]:
        """By member: its node. The members that are not named are held."""
        return {each.pod: each.node for each in self.spec.placements if not each.beyond_min_count}

    @property
    def victims(self) -> frozenset[str]:
        """The pods that the plan evicts."""
        return frozenset(pod.name for victim in self.spec.victims for pod in victim.pods)

    def no_dearer(self, pods: Collection[str]) -> bool:
        """Whether these victims cost no more than the plan's, by our score."""
        weighing = Weighing(self.snapshot, self.preemptor)
        rows = {name: row for row, name in enumerate(self.snapshot.pod_names)}
        mine, theirs = (frozenset(rows[name] for name in each) for each in (self.victims, pods))
        return weighing.may_evict(theirs) and weighing.cost(theirs) <= weighing.cost(mine)


def plan_for(objects: Sequence[Json], namespace: str, gang: str) -> Planned:
    """The plan for the PodGroup of this name. `objects`: all that matters, as the API server has it."""
    reader = NodeObjects()
    reader.tables.set_preempting(ALL_PREEMPTING)
    for number, body in enumerate(objects):
        reader.add(JsonDocument(json.dumps(body).encode()), f"objects[{number}]")
    snapshot, key = reader.picture().snapshot, f"{NATIVE}:{gang}"
    spec = group_decision(snapshot, namespace, key).spec
    return Planned(spec, snapshot, group_preemptor(snapshot, namespace, key))
