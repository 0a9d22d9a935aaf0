"""Places for the pods of Workloads that wait for quota: what the quota plane asks of the nodes plane.

See `runtime.exchange.placements`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import structlog
from msgspec.structs import replace as replace_fields

from api.core import Pod, PriorityClass
from api.priority import SYSTEM_CLASSES, global_default
from controllers.gangs.keys import workload_key
from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.promised.account import subtract
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.promised.workload_claims import WorkloadClaims
from nodes.search.decision import Decision, DecisionError, Limits, workload_decision
from nodes.search.preemptors.supposed import SupposedPods, WorkloadName, leaving_with, priority_of
from nodes.search.unmodelled import why_blocked
from nodes.state.columns.classes import counted_requests
from nodes.state.columns.flags import GATED, TERMINATING
from nodes.state.snapshot import Snapshot
from nodes.state.tables import Tables
from runtime.exchange.placements import Answer, Asking, NoPlace, Owner, Place, Placed
from runtime.listeners import Listenable
from runtime.work.search_thread import SearchThread

__all__ = ["WorkloadPlaces"]

log = structlog.get_logger(__name__)

TRIES: Final = 3
"""Searches for one answer, if nodes and pods change meanwhile. The last one counts."""


class WorkloadPlaces(Listenable[[]]):
    """Implements `runtime.exchange.placements.Placements`."""

    def __init__(
        self,
        tables: Tables,
        reservations: Reservations,
        search: SearchThread[Limits],
        prepared: Callable[[Snapshot, str], Snapshot | None],
        claims: WorkloadClaims,
        nudge: Callable[[], None],
        synced: Callable[[], bool],
    ) -> None:
        """`prepared`: the snapshot without what plans in this namespace must not use; None: nobody may be evicted now.

        `nudge`: have the planner look again. `synced`: whether nodes and pods are known.
        """
        super().__init__()
        self._claims, self._nudge, self._synced = claims, nudge, synced
        self._tables, self._reservations, self._search = tables, reservations, search
        self._prepared = prepared
        self._promises = 0

    @property
    def changes(self) -> int:
        """See `Placements`."""
        return self._tables.version + self._promises

    def changed(self) -> None:
        """Nodes, pods or the right to evict may have changed."""
        self._tell()

    def taken_over(self) -> None:
        """This process may evict from now on."""
        self._promises += 1
        self.changed()

    async def find(self, asking: Asking, victims: Sequence[Owner]) -> Answer:
        """See `Placements`."""
        answer: Answer = NoPlace("the nodes plane has not begun to evict yet")
        for _ in range(TRIES):
            version = self.changes
            pods = _pods(asking, self._tables)
            snapshot = self._snapshot(asking, pods, victims)
            if isinstance(snapshot, NoPlace):
                return snapshot
            answer = await self._search.run(partial(_search, snapshot, asking, pods))
            if version == self.changes:
                break
        if isinstance(answer, Placed):
            nodes = {place.node for place in answer.places}
            return replace(
                answer, in_use=frozenset(each.uid for each in victims if self._runs_on(each, nodes))
            )
        return answer

    def _snapshot(
        self, asking: Asking, pods: Sequence[SupposedPods], victims: Sequence[Owner]
    ) -> Snapshot | NoPlace:
        """What the search may plan with: promised room aside, and with the pods of the victims gone."""
        try:
            snapshot = self._tables.snapshot()
            priority = priority_of(snapshot, _name(asking), pods)
        except ValueError as error:
            return NoPlace(str(error))
        key = workload_key(asking.namespace, asking.name, asking.uid)
        left = subtract(snapshot, self._reservations, key, priority, self._claims.coming)
        prepared = self._prepared(left, asking.namespace)
        if prepared is None:
            return NoPlace("the nodes plane has not begun to evict yet")
        return leaving_with(prepared, [uid for owner in victims for uid in self._pods_of(owner)])

    def _pods_of(self, owner: Owner) -> list[str]:
        """UIDs of the pods of a Job or PodGroup that exist."""
        pods = self._tables.pods
        # Whoever makes a Workload writes the UID. Nobody controls pods of another namespace.
        rows = [row for row in self._tables.controlled(owner.uid) if pods.namespaces[row] == owner.namespace]
        if owner.kind == "PodGroup":
            rows = [*rows, *self._tables.members((owner.namespace, owner.name))]
        return [pods.uids[row] for row in rows]

    def _runs_on(self, owner: Owner, nodes: Collection[str]) -> bool:
        """Whether pods of the owner are bound to any of the nodes."""
        rows = [self._tables.pods.find(uid) for uid in self._pods_of(owner)]
        return any(self._tables.view(row).node in nodes for row in rows if row is not None)

    def hold(self, asking: Asking, places: Sequence[Place], victims: Sequence[Owner]) -> bool:
        """See `Placements`."""
        key = workload_key(asking.namespace, asking.name, asking.uid)
        if self._claims.has(key):
            return True
        if not self._synced():
            return False
        try:
            priority = priority_of(self._tables.snapshot(), _name(asking), _pods(asking, self._tables))
            profiles = self._tables.profiles
            requests = {each.pod_set: counted_requests(each.pod, profiles) for each in asking.pods}
        except ValueError as error:
            log.warning("no room is promised", workload=f"{asking.namespace}/{asking.name}", error=str(error))
            return False
        claims = [
            (place.pod, Claim(place.node, requests[pod_set]))
            for place in places
            if (pod_set := place.pod.rpartition("-")[0]) in requests
        ]
        going = frozenset(uid for owner in victims for uid in self._pods_of(owner))
        there = [uid for uid in self._pods_of(asking.owner) if self._may_run(uid)]
        self._claims.hold(key, asking.owner, priority, claims, going, there)
        return True

    def _may_run(self, uid: str) -> bool:
        """Whether the pod runs or may be scheduled."""
        row = self._tables.pods.find(uid)
        return row is not None and not self._tables.view(row).flags & (TERMINATING | GATED)

    def release(self, namespace: str, name: str, uid: str) -> None:
        """See `Placements`."""
        if self._claims.release(workload_key(namespace, name, uid)):
            self._promises += 1
            self._nudge()
            self.changed()


def _name(asking: Asking) -> WorkloadName:
    return WorkloadName(asking.api_version, asking.namespace, asking.name, asking.uid)


def _pods(asking: Asking, tables: Tables) -> list[SupposedPods]:
    classes = tables.priority_classes
    return [
        SupposedPods(each.pod_set, each.count, _bounded(each.pod, classes), *tables.behind(each.pod))
        for each in asking.pods
    ]


def _bounded(pod: Pod, classes: Mapping[str, PriorityClass]) -> Pod:
    """The pod with what its PriorityClass gives at most.

    A template may say anything, because nobody checks it. The API server creates no pod that says more than its class.
    A class that does not exist is an error later.
    """
    spec = pod.spec
    name = spec.priority_class_name
    found = (classes.get(name) or SYSTEM_CLASSES.get(name)) if name else global_default(classes.values())
    value = found.value if found is not None else 0
    spec = replace_fields(spec, priority=value if spec.priority is None else min(spec.priority, value))
    if found is not None and found.preemption_policy == "Never":
        spec = replace_fields(spec, preemption_policy="Never")
    return replace_fields(pod, spec=spec)


def _search(snapshot: Snapshot, asking: Asking, pods: list[SupposedPods], limits: Limits) -> Answer:
    """On the search's thread. A fault of ours is an answer that evicts nobody."""
    try:
        found = workload_decision(snapshot, _name(asking), pods, limits=limits)
    except (DecisionError, ValueError) as error:
        return NoPlace(str(error))
    except Exception as error:
        log.exception("the search failed", namespace=asking.namespace, workload=asking.name)
        return NoPlace(f"internal error: {error!r}")
    return _answer(found)


def _answer(found: Decision) -> Answer:
    spec = found.spec
    if spec.outcome not in ("Fits", "Preempts"):
        return NoPlace(spec.reason)
    if blocked := why_blocked(spec, asks=False):
        return NoPlace(blocked)
    places = tuple(Place(each.pod, each.node) for each in spec.placements)
    return Placed(places, evicts=sum(len(victim.pods) for victim in spec.victims))
