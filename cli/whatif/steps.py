"""What would happen, one submitted object after the other: its quota first, then its nodes, then its victims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from answers.reading.planes import QUOTA_KINDS
from api.core import Pod
from api.groups import SCHEDULING_GATE, PodGroup
from api.integration import ADMISSION_GATE, QUEUE_NAME_LABEL
from api.meta import ObjectMeta
from api.plans import PreemptionPlanSpec
from api.times import rfc3339_micro
from api.validation import FieldError
from api.waits import Wait
from api.words import counted, listed
from api.workloads import Workload
from cli.whatif.objects import Cluster, Submission, Submitted
from cli.whatif.workloads import supposed_pods, workload_of
from controllers.jobs.owned_workload import JobError
from nodes.answers.consequences import Consequence, Tried, consequences, submit, without_pods
from nodes.answers.plan_words import victims_of
from nodes.groups.keys import is_foreign, is_owned, short_name
from nodes.groups.made_pods import MadePods, Written
from nodes.groups.registry import GroupKey, form_of
from nodes.search.preemptors.preemptor import DecisionError
from nodes.search.preemptors.supposed import WorkloadName
from nodes.state.snapshot import Snapshot
from quota.answers.picture import QuotaPicture
from quota.answers.trial import admitted, waiting_again
from quota.answers.waits import Around, why_workload_waits
from quota.cycle.pod_set_infos import PodSetConflict, PodSetInfo, pod_set_infos
from quota.search.decision import Options, decide
from quota.state.amounts import QuotaError

__all__ = ["RUNS", "Step", "steps"]

RUNS: Final = ("Runs", "RunsAfterEvictions")
"""Outcomes of objects all of whose pods get nodes."""
GETS_QUOTA: Final = ("Fits", "Preempts")


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one object."""

    kind: str
    name: str
    """NAMESPACE/NAME."""
    pods: int
    outcome: str
    sentence: str
    running: int = 0
    """How many of its pods get nodes."""
    quota: Wait | None = None
    """What the quota plane says; None if it names no queue."""
    plan: PreemptionPlanSpec | None = None
    """The decision about nodes; None if it was not asked for."""
    evicted: tuple[str, ...] = ()
    """Who goes for it on nodes."""
    consequences: tuple[Consequence, ...] = ()
    """What becomes of each of them."""
    quota_consequences: tuple[Wait, ...] = ()
    """What becomes of the Workloads that lose their quota for it."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "kind": self.kind,
            "name": self.name,
            "outcome": self.outcome,
            "sentence": self.sentence,
            "pods": self.pods,
            "running": self.running,
            "quota": self.quota.plain() if self.quota is not None else None,
            "evicted": list(self.evicted),
            "consequences": [
                {
                    "unit": each.unit,
                    "fits": each.fits,
                    "sentence": each.sentence,
                    "wouldEvict": list(each.would_evict),
                }
                for each in self.consequences
            ],
            "quotaConsequences": [each.plain() for each in self.quota_consequences],
            "plan": msgspec.to_builtins(self.plan) if self.plan is not None else None,
        }


@dataclass
class Unit:
    """What is looked at together: an object, or a gang with all pods of it that are submitted."""

    kind: str
    meta: ObjectMeta
    api_version: str
    sets: list[MadePods] = field(default_factory=list)
    gang: PodGroup | None = None
    written: Written | None = None
    """None for a gang that is no owner's."""
    problem: tuple[str, str] | None = None
    """See `Submitted`."""

    @property
    def name(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.meta.namespace}/{short_name(self.meta.name)}"

    @property
    def pods(self) -> int:
        """How many are submitted."""
        return sum(each.count for each in self.sets)


def steps(cluster: Cluster, submission: Submission) -> list[Step]:
    """What becomes of the objects in the order in which they are submitted. Each one sees what came before.

    Raises InputError and FieldError.
    """
    for group, place in submission.groups:
        cluster.nodes.keep(group, place)
    snapshot, found = cluster.snapshot, list[Step]()
    for unit in _units(cluster, submission):
        step, snapshot = _Trying(cluster, snapshot).step(unit)
        found.append(step)
    return found


def _units(cluster: Cluster, submission: Submission) -> list[Unit]:
    gangs: dict[GroupKey, Unit] = {}
    for group, _ in submission.groups:
        form = form_of(group)
        if form.spec.scheduling_policy.gang is not None:
            gangs[form.metadata.namespace, form.metadata.name] = _gang(form)
    for each in submission.objects:
        if each.owner is not None:
            cluster.nodes.tables.upsert_owner(each.owner)
    units = list[Unit]()
    for each in submission.objects:
        forms = [_gang_of(cluster, pods.pod) for pods in each.sets]
        if (whole := _owned(forms)) is not None:
            units.append(_unit(each, each.sets, whole))
            continue
        own = list[MadePods]()
        for pods, gang in zip(each.sets, forms, strict=True):
            # The replicas of an owner in a queue get quota together.
            if gang is None or (is_owned(gang.metadata.name) and QUEUE_NAME_LABEL in (each.labels or {})):
                own.append(pods)
            else:
                key = gang.metadata.namespace, gang.metadata.name
                gangs.setdefault(key, _gang(gang)).sets.append(pods)
        if own or not each.sets or each.kind == "Workload":
            units.append(_unit(each, own))
    return [*units, *gangs.values()]


def _gang_of(cluster: Cluster, pod: Pod) -> PodGroup | None:
    """The gang of the pod, as the tables have it or would have it; None if it is in none."""
    tables = cluster.nodes.tables
    key = tables.owners.unit_of(pod)
    known = tables.groups.find(*key) if key is not None else None
    if known is None and key is not None and is_owned(key[1]):
        known = tables.owners.form(*key)
    return known if known is not None and known.spec.scheduling_policy.gang is not None else None


def _owned(forms: Sequence[PodGroup | None]) -> PodGroup | None:
    """The gang of all pods of an owner. None if they belong to no gang, or to several."""
    first = forms[0] if forms else None
    if first is None or not is_owned(first.metadata.name):
        return None
    names = {each.metadata.name if each is not None else "" for each in forms}
    return first if len(names) == 1 else None


def _gang(group: PodGroup) -> Unit:
    return Unit("PodGroup", group.metadata, group.api_version, gang=group)


def _unit(each: Submitted, sets: list[MadePods], gang: PodGroup | None = None) -> Unit:
    its = each.written
    return Unit(each.kind, its.metadata, its.api_version, sets, gang, its, each.problem)


class _Trying:
    """One object, in the state that those before it have left."""

    def __init__(self, cluster: Cluster, snapshot: Snapshot) -> None:
        self._cluster, self._snapshot = cluster, snapshot

    def step(self, unit: Unit) -> tuple[Step, Snapshot]:
        """What becomes of it, and the state afterwards."""
        bare = Step(unit.kind, unit.name, unit.pods, "", "")
        if unit.problem is not None:
            return replace(bare, outcome=unit.problem[0], sentence=unit.problem[1]), self._snapshot
        spec = (unit.written.spec or {}) if unit.written is not None else {}
        try:
            workload = self._workload_of(unit)
            if workload is None:
                if unit.kind in ("Job", "TrainJob") and spec.get("suspend") is True:
                    says = "It is suspended, and in no queue: it creates no pods."
                    return replace(bare, outcome="Suspended", sentence=says), self._snapshot
                return self._on_nodes(unit, bare, {})
            return self._with_quota(unit, workload, bare)
        except (JobError, QuotaError, PodSetConflict, DecisionError, FieldError) as error:
            return replace(bare, outcome="Misconfigured", sentence=f"{error}."), self._snapshot

    def _workload_of(self, unit: Unit) -> Workload | None:
        """The Workload that it would get; None if it is in no queue. Groups of other kinds never are."""
        if unit.gang is not None and is_foreign(unit.meta.name):
            return None
        return workload_of(unit.kind, unit.meta, unit.sets, unit.written, self._cluster, self._now)

    @property
    def _now(self) -> str:
        return rfc3339_micro(self._cluster.now / 1_000_000)

    # ---- quota

    def _with_quota(self, unit: Unit, workload: Workload, bare: Step) -> tuple[Step, Snapshot]:
        cluster = self._cluster
        cluster.quota.apply(workload)
        wait = why_workload_waits(workload, self._around())
        bare = replace(bare, quota=wait)
        if wait.state not in GETS_QUOTA:
            says = f"It waits for quota, and its pods are not created. {wait.sentence}"
            return replace(bare, outcome="WaitsForQuota", sentence=says), self._snapshot
        decision = decide(cluster.quota.snapshot(), workload, cluster.now, Options())
        holder = admitted(workload, decision, self._now)
        targets = [target.holder.workload for target in decision.targets]
        for each in [holder, *map(waiting_again, targets)]:
            cluster.quota.apply(each)
        around = self._around()
        again = [why_workload_waits(waiting_again(each), around) for each in targets]
        infos = {each.name: each for each in pod_set_infos(holder, cluster.quota.flavors)}
        gone = [uid for each in targets for uid in self._pods_of(each)]
        self._snapshot = without_pods(self._snapshot, gone)
        return self._on_nodes(unit, replace(bare, quota_consequences=tuple(again)), infos)

    def _around(self) -> Around:
        cluster = self._cluster
        quota = QuotaPicture(cluster.quota)
        return Around(quota, cluster.now, (), cluster.namespaces, unread=cluster.unread(QUOTA_KINDS))

    def _pods_of(self, workload: Workload) -> list[str]:
        """UIDs of the pods that end when the Workload loses its quota."""
        tables = self._cluster.nodes.tables
        rows = set[int]()
        for owner in workload.metadata.owner_references or ():
            rows.update(tables.controlled(owner.uid))
            if owner.kind == "PodGroup":
                rows.update(tables.members((workload.metadata.namespace, owner.name)))
        return [tables.pods.uids[row] for row in sorted(rows)]

    # ---- nodes

    def _on_nodes(self, unit: Unit, bare: Step, infos: Mapping[str, PodSetInfo]) -> tuple[Step, Snapshot]:
        cluster = self._cluster
        if unread := cluster.unread():
            says = f"The search was not asked: {unread}."
            return replace(bare, outcome="NotAsked", sentence=says), self._snapshot
        if gates := _gates(unit.sets):
            says = f"Its pods wait: scheduling gates hold them ({listed(gates)})."
            return replace(bare, outcome="Gated", sentence=says), self._snapshot
        if not unit.pods:
            return replace(bare, outcome="Nothing", sentence="No pod of it is submitted."), self._snapshot
        name = WorkloadName(unit.api_version, unit.meta.namespace, unit.meta.name, unit.meta.uid)
        tried = submit(self._snapshot, name, supposed_pods(unit.sets, infos, cluster), unit.gang)
        goes = tried.spec if tried.running else None
        found = consequences(tried.after, goes, self._returns) if goes is not None else []
        step = replace(
            bare,
            outcome=_outcome(tried),
            sentence=_sentence(tried),
            running=tried.running,
            plan=tried.spec,
            evicted=victims_of(goes) if goes is not None else (),
            consequences=tuple(found),
        )
        return step, tried.after

    def _returns(self, uid: str) -> bool:
        """Whether somebody creates the pod again when it is evicted. Nobody knows of a gang's pods without an owner."""
        tables = self._cluster.nodes.tables
        row = tables.pod(uid)
        return row is None or tables.view(row).controller is not None


def _gates(sets: Sequence[MadePods]) -> list[str]:
    """Gates that neither reprieve nor who manages the quota removes."""
    gates = {gate.name for each in sets for gate in each.pod.spec.scheduling_gates or ()}
    return sorted(gates - {SCHEDULING_GATE, ADMISSION_GATE})


def _outcome(tried: Tried) -> str:
    if not tried.running:
        return "Waits"
    if tried.running < tried.pods:
        return "RunsInPart"
    return "RunsAfterEvictions" if tried.spec.victims else "Runs"


def _sentence(tried: Tried) -> str:
    if not tried.running:
        return f"None of {counted(tried.pods, 'pod')} gets a node: {tried.why_not}."
    victims = tried.spec.victims
    gone = sum(len(each.pods) for each in victims)
    after = f" once {counted(len(victims), 'unit')} with {counted(gone, 'pod')} are gone" if victims else ""
    says = f"{tried.running} of {counted(tried.pods, 'pod')} get nodes{after}."
    return f"{says} The others wait: {tried.why_not}." if tried.why_not else says
