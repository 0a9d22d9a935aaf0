"""Gathers what one decision is made from: the manager's objects, and what is seen of the Workload in each cluster."""

from __future__ import annotations

from api.clock import Clock
from api.jobs import TemplatedJob
from api.workloads import Workload
from controllers.multikueue.acting.gates import OpenGates
from controllers.multikueue.acting.identity import Identity
from controllers.multikueue.acting.mirrors import Mirrors
from controllers.multikueue.acting.originals import Originals
from controllers.multikueue.clusters.clusters import Clusters
from controllers.multikueue.clusters.connection import Connection
from controllers.multikueue.kinds.registry import why_no_adapter
from controllers.multikueue.life.seen import ClusterSeen, Copy, Cost, Seen, Turn
from quota.state.workloads import attempt_of

__all__ = ["Gathering"]


class Gathering:
    """In one term."""

    def __init__(
        self,
        mirrors: Mirrors,
        clusters: Clusters,
        originals: Originals,
        gates: OpenGates,
        identity: Identity,
        clock: Clock,
    ) -> None:
        self._mirrors, self._clusters, self._originals, self._gates = mirrors, clusters, originals, gates
        self._identity, self._clock = identity, clock
        self._missing: dict[str, float] = {}
        """Since when a cluster that a config or a Workload names has no MultiKueueCluster, in monotonic seconds."""
        self._queues: dict[tuple[str, str], str] = {}
        """By cluster, and `namespace/name` of a LocalQueue: its ClusterQueue there, as the last cost of a copy in it
        said."""

    def of(self, key: str) -> Seen:
        """All that is seen of the Workload of this key (`namespace/name`)."""
        workload = self._mirrors.workload(key)
        check = self._check_of(workload) if workload is not None else ""
        job = self._mirrors.job_of(workload) if workload is not None else None
        names = self._clusters.config_of(check) if check else ()
        attempt = attempt_of(workload) if workload is not None else ""
        uid = workload.metadata.uid if workload is not None else ""
        job_name = job.metadata.name if job is not None else ""
        chosen = (workload.status.cluster_name or "") if workload is not None else ""
        queue = _queue_of(workload) if workload is not None else ""
        clusters = tuple(self._cluster(name, key, job_name, queue) for name in names or ())
        turns, former_turns = self._mirrors.turns.of(uid, attempt), self._former_turns(key, uid, attempt)
        had_turns = {
            each.cluster for each in (*turns, *former_turns) if workload is not None and not each.is_over
        }
        others = tuple(self._others(key, job_name, frozenset(names or ()), chosen, had_turns))
        return Seen(
            key,
            workload,
            self._identity.manager,
            check,
            why_no_adapter(workload, job) if workload is not None and check else "",
            job,
            is_mirrored=self._is_mirrored(key, job, job_name, chosen),
            digest=self._originals.digest(workload) if workload is not None else None,
            attempt=attempt,
            is_configured=names is not None,
            clusters=clusters,
            others=others,
            turns=turns,
            former_turns=former_turns,
            fenced=self._fenced(clusters),
        )

    def tidy(self) -> None:
        """Forget clusters and queues that nothing here is about any longer."""
        named = {each.spec.cluster for each in self._mirrors.turns}
        queues, checks = set[str](), set[str]()
        for workload in self._mirrors.workloads:
            queues.add(_queue_of(workload))
            checks.add(self._check_of(workload))
            named.add(workload.status.cluster_name or "")
        for check in checks:
            named.update(self._clusters.config_of(check) or ())
        for name in self._missing.keys() - named:
            del self._missing[name]
        for place in [each for each in self._queues if each[1] not in queues]:
            del self._queues[place]
        self._gates.keep({(cluster, queue) for (cluster, _), queue in self._queues.items()})

    def gone(self, cluster: str) -> None:
        """There is no MultiKueueCluster of this name any longer."""
        for place in [each for each in self._queues if each[0] == cluster]:
            del self._queues[place]
        self._gates.gone(cluster)

    def _former_turns(self, key: str, uid: str, attempt: str) -> tuple[Turn, ...]:
        namespace, _, name = key.partition("/")
        turns = self._mirrors.turns
        return turns.open_of_others(uid, attempt) if uid else turns.open_of_gone(namespace, name)

    def _check_of(self, workload: Workload) -> str:
        """The MultiKueue check of the Workload. A ClusterQueue cannot have two."""
        for state in workload.status.admission_checks or ():
            if self._clusters.is_check(state.name):
                return state.name
        return ""

    def _cluster(self, name: str, key: str, job_name: str, queue: str = "") -> ClusterSeen:
        connection = self._clusters.get(name)
        if connection is None:
            return self._missing_cluster(name)
        self._missing.pop(name, None)
        copy, cost, reach = connection.copy(key), connection.cost(key), connection.reach
        return ClusterSeen(
            name,
            reach,
            connection.why if reach != "Connected" else "",
            connection.honours_gates or _shows_gates(connection, copy),
            connection.is_prompt,
            copy,
            connection.job(key, job_name),
            cost,
            self._gates.count(name),
            *self._others_gates(name, key, queue, cost),
        )

    def _others_gates(self, name: str, key: str, queue: str, cost: Cost | None) -> tuple[int, bool]:
        """When one was opened last for the copy's ClusterQueue, and whether such a turn is not carried out yet. A copy
        that was not looked at yet has no cost."""
        if cost is not None:
            self._queues[name, queue] = cost.cluster_queue
        found = self._queues.get((name, queue))
        if found is None:
            return 0, False
        return self._gates.last(name, found), self._gates.is_busy(key, name, found)

    def _missing_cluster(self, name: str) -> ClusterSeen:
        """One that is configured or chosen, and does not exist: it is silent from now on."""
        now = self._clock.monotonic()
        since = self._missing.setdefault(name, now)
        is_lost = now - since >= self._identity.lost_seconds
        return ClusterSeen(name, "Lost" if is_lost else "Away", f"MultiKueueCluster {name} does not exist")

    def _others(
        self, key: str, job_name: str, configured: frozenset[str], chosen: str, had_turns: set[str]
    ) -> list[ClusterSeen]:
        """Clusters that are not in the config, and have something of the Workload, or had a turn that is not over: a
        new process does not see the gate in one that it cannot reach."""
        named = {chosen, *had_turns}
        found = [
            self._cluster(each.name, key, job_name)
            for each in self._clusters
            if each.name not in configured and (each.name in named or _has(each, key, job_name))
        ]
        if chosen and chosen not in configured and all(each.name != chosen for each in found):
            found.append(self._missing_cluster(chosen))
        return found

    def _is_mirrored(self, key: str, job: TemplatedJob | None, job_name: str, chosen: str) -> bool:
        if job is None:
            return True
        connection = self._clusters.get(chosen) if chosen else None
        remote = connection.job(key, job_name) if connection is not None else None
        return self._originals.shown.is_shown(key, job, remote)

    def _fenced(self, clusters: tuple[ClusterSeen, ...]) -> frozenset[str]:
        return frozenset(
            each.name
            for each in clusters
            if each.copy is not None and each.copy.fenced_by == self._identity.term
        )


def _queue_of(workload: Workload) -> str:
    """`namespace/name` of its LocalQueue."""
    return f"{workload.metadata.namespace}/{workload.spec.queue_name}"


def _shows_gates(connection: Connection, copy: Copy | None) -> bool:
    """Whether a cluster that was not tried yet in this process has written the gate of this copy."""
    return connection.probed.honours is None and copy is not None and copy.gate != "Missing"


def _has(connection: Connection, key: str, job_name: str) -> bool:
    return connection.copy(key) is not None or connection.job(key, job_name) is not None
