"""Random clusters of several namespaces, as documents, in which every string of a namespace tells whose it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from random import Random
from typing import Any, Final

import msgspec
from msgspec import UNSET

from api.dispatch import DispatchedWorkload, DispatchPlanSpec, WorkerCluster
from api.instead import Instead, InsteadVictims
from api.meta import Condition
from api.plan_names import whole_plan_name
from api.plan_results import DomainResult, Excluded, Outcome, PlanCost, Score, StoppingBudget
from api.plans import (
    Domain,
    Placement,
    PreemptionPlanSpec,
    PreemptionPlanStatus,
    Preemptor,
    Victim,
    VictimPod,
    VictimQuota,
)

__all__ = ["MARKS", "NAMESPACES", "NOW", "World", "marks_of", "world"]

Object = dict[str, Any]

NOW: Final = "2026-03-01T12:00:00Z"
NAMESPACES: Final = ("alfa", "bravo", "carol")
MARKS: Final = {"alfa": "qa7x", "bravo": "qb8y", "carol": "qc9w"}
"""What each string of a namespace has in it."""
LEVELS: Final = {"alfa": 7_310_000, "bravo": 4_520_000, "carol": 6_130_000}
"""The priorities of a namespace are a bit above this."""
OURS: Final = "reprieve.dev/v1alpha1"
KUEUE: Final = "kueue.x-k8s.io/v1beta2"
HUGE: Final = "3000000000000000"
"""CPUs: what two of them hold cannot be counted."""
PHASES: Final = ("Planned", "Confirmed", "Evicting", "Ready", "Unschedulable", "Blocked", "Aborted", "Bound")

EVICTING: Final = ("Evicting", "Ready", "Aborted", "Bound")
"""Phases of plans that evict, or did."""


def marks_of(namespaces: Collection[str]) -> list[str]:
    """What must not be seen by somebody who may know nothing of these namespaces."""
    return [each for space in namespaces for each in (MARKS[space], space, str(LEVELS[space])[:4])]


def world(seed: int) -> World:
    """A small one."""
    return World(Random(seed))


class World:
    """A cluster."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.objects: list[Object] = []
        self._pods: list[Object] = []
        """Pods that run."""
        self._holders: list[Object] = []
        """Workloads that hold quota."""
        self._nodes = [f"n{each}" for each in range(random.randint(1, 4))]
        self._shared()
        for space in NAMESPACES:
            self._running(space)
        for space in NAMESPACES:
            self._waiting(space)
            self._quota(space)
            self._budgets(space)

    def _add(self, version: str, kind: str, name: str, space: str = "", **parts: Any) -> Object:
        meta = {"name": name, "uid": f"uid-{kind.lower()}-{name}", "creationTimestamp": self._time()}
        meta |= {"namespace": space} if space else {}
        meta |= parts.pop("metadata", {})
        made = {"apiVersion": version, "kind": kind, "metadata": meta, **parts}
        self.objects.append(made)
        return made

    def _time(self) -> str:
        return f"2026-03-01T{self._random.randint(6, 11):02}:{self._random.randint(0, 59):02}:00Z"

    def _is(self, share: float) -> bool:
        return self._random.random() < share

    # ---- what has no namespace

    def _shared(self) -> None:
        for number, name in enumerate(self._nodes):
            labels = {"kubernetes.io/hostname": name, "rack": f"r{number % 2}"}
            amounts = {"cpu": "4", "memory": "16Gi", "pods": "20"}
            self._add("v1", "Node", name, metadata={"labels": labels}, status={"allocatable": amounts})
        for space in NAMESPACES:
            if self._is(0.9):
                self._add("v1", "Namespace", space, metadata={"labels": {"team": MARKS[space]}})
        self._add(KUEUE, "ResourceFlavor", "default")
        self._add(KUEUE, "Cohort", "all")
        for space in NAMESPACES:
            preemption = {
                "withinClusterQueue": self._random.choice(("LowerPriority", "Never")),
                "reclaimWithinCohort": self._random.choice(("Any", "LowerPriority", "Never")),
            }
            quota = {"name": "cpu", "nominalQuota": str(self._random.randint(1, 6))}
            groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [quota]}]}]
            spec = {
                "cohortName": "all",
                "namespaceSelector": {},
                "resourceGroups": groups,
                "preemption": preemption,
            }
            self._add(KUEUE, "ClusterQueue", f"queue-{MARKS[space]}", spec=spec)
        if self._is(0.3):
            annotations = {
                "reprieve.dev/native-groups": self._random.choice(("Off", "Steer")),
                "reprieve.dev/planning-mode": self._random.choice(("Enforce", "Observe", "Off")),
            }
            where = {"namespace": "reprieve-system", "annotations": annotations}
            self._add("coordination.k8s.io/v1", "Lease", "reprieve", metadata=where, spec={})

    # ---- pods

    def _priority(self, space: str) -> int:
        return LEVELS[space] + self._random.randint(0, 9) * 11

    def _pod(self, space: str, name: str, **given: Any) -> Object:
        labels = {"app": MARKS[space], **given.pop("labels", {})}
        spec = {
            "priority": given.pop("priority", self._priority(space)),
            "schedulerName": "default-scheduler",
            "containers": [
                {"name": "c", "resources": {"requests": {"cpu": self._random.choice(("1", "2", "3"))}}}
            ],
            **given.pop("spec", {}),
        }
        meta = {"labels": labels, **given.pop("metadata", {})}
        status = {"phase": "Pending", **given.pop("status", {})}
        return self._add("v1", "Pod", name, space, metadata=meta, spec=spec, status=status)

    def _running(self, space: str) -> None:
        mark = MARKS[space]
        group = self._is(0.4)
        if group:
            self._group(space, f"{mark}-runs", 1, {"disruptionMode": {"all": {}}})
        for number in range(self._random.randint(0, 4)):
            labels = {"reprieve.dev/pod-group": f"{mark}-runs"} if group and self._is(0.6) else {}
            meta: Object = {"deletionTimestamp": NOW} if self._is(0.1) else {}
            if self._is(0.4):
                meta["ownerReferences"] = [
                    _owner("apps/v1", "ReplicaSet", f"{mark}-unread", f"uid-{mark}-unread")
                ]
            self._pods.append(
                self._pod(
                    space,
                    f"{mark}-run-{number}",
                    labels=labels,
                    metadata=meta,
                    spec={"nodeName": self._random.choice(self._nodes)},
                    status={"phase": "Running", "startTime": self._time()},
                )
            )
        if self._is(0.3):
            self._pod(space, f"{mark}-ended", status={"phase": self._random.choice(("Succeeded", "Failed"))})

    def _group(self, space: str, name: str, count: int, more: Object) -> Object:
        policy = {"gang": {"minCount": count}} if self._is(0.9) else {"basic": {}}
        spec = {"schedulingPolicy": policy, "priority": self._priority(space), **more}
        return self._add(OURS, "PodGroup", name, space, spec=spec)

    def _members(self, space: str, name: str, priority: int) -> list[Object]:
        found = []
        for number in range(self._random.randint(0, 3)):
            spec: Object = {}
            if self._is(0.15):
                gate = self._random.choice((f"{MARKS[space]}.example.com/gate", "reprieve.dev/gang"))
                spec["schedulingGates"] = [{"name": gate}]
            elif self._is(0.1):
                spec["nodeName"] = self._random.choice(self._nodes)
            labels = {"reprieve.dev/pod-group": name}
            found.append(
                self._pod(
                    space,
                    f"{name}-{number}",
                    labels=labels,
                    priority=priority,
                    spec=spec,
                    status=self._said(space),
                )
            )
        return found

    def _said(self, space: str) -> Object:
        if self._is(0.3):
            return {}
        said = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": f"0/4 nodes are available ({MARKS[space]})",
            "lastTransitionTime": self._time(),
        }
        nominated = {"nominatedNodeName": self._random.choice(self._nodes)} if self._is(0.3) else {}
        return {"conditions": [said], **nominated}

    def _waiting(self, space: str) -> None:
        mark = MARKS[space]
        for number in range(self._random.randint(0, 2)):
            name = f"{mark}-gang-{number}"
            more: Object = {"schedulingConstraints": {"topology": [{"key": "rack"}]}} if self._is(0.4) else {}
            group = self._group(space, name, self._random.randint(1, 3), more)
            members = self._members(space, name, group["spec"]["priority"])
            if self._is(0.5):
                self._status(space, group, members)
            if self._is(0.6):
                self._plan(space, group, members)
        if self._is(0.3):
            self._members(space, f"{mark}-missing", self._priority(space))
        for number in range(self._random.randint(0, 2)):
            pod = self._pod(space, f"{mark}-alone-{number}", status=self._said(space))
            if self._is(0.4):
                self._plan(space, pod, [pod])
        self._owned(space)

    def _owned(self, space: str) -> None:
        """Pods of a Job, of a group of Volcano's kind, and of a ReplicaSet that may create no more."""
        mark = MARKS[space]
        if self._is(0.4):
            job = self._add(
                "batch/v1", "Job", f"{mark}-job", space, spec={"parallelism": 2, "suspend": self._is(0.3)}
            )
            owner = _owner("batch/v1", "Job", job["metadata"]["name"], job["metadata"]["uid"])
            self._pod(space, f"{mark}-job-0", metadata={"ownerReferences": [owner]}, status=self._said(space))
        if self._is(0.3):
            version = "scheduling.volcano.sh/v1beta1"
            self._add(version, "PodGroup", f"{mark}-volcano", space, spec={"minMember": 2})
            for number in range(2):
                self._pod(
                    space,
                    f"{mark}-volcano-{number}",
                    metadata={"annotations": {"scheduling.k8s.io/group-name": f"{mark}-volcano"}},
                    status=self._said(space),
                )
        if self._is(0.3):
            failed = {"type": "ReplicaFailure", "status": "True", "message": f"exceeded quota: {mark}"}
            template = {"metadata": {"labels": {"reprieve.dev/pod-group": f"{mark}-gang-0"}}}
            self._add(
                "apps/v1",
                "ReplicaSet",
                f"{mark}-set",
                space,
                spec={"replicas": 3, "template": template},
                status={"conditions": [failed]},
            )

    def _status(self, space: str, group: Object, members: list[Object]) -> None:
        counted = [each for each in members if not each["spec"].get("schedulingGates")]
        reason = self._random.choice(("Gathering", "ConfirmationPending", "FreeingRoom", "Unschedulable"))
        condition = {
            "type": "reprieve.dev/Scheduled",
            "status": "False",
            "reason": reason,
            "message": f"it waits as {MARKS[space]} says",
            "lastTransitionTime": self._time(),
        }
        group["status"] = {
            "members": len(counted),
            "boundMembers": sum("nodeName" in each["spec"] for each in counted),
            "conditions": [condition],
        }

    def _budgets(self, space: str) -> None:
        if self._is(0.5):
            status = {"disruptionsAllowed": 0, "observedGeneration": 0} if self._is(0.5) else {}
            least = self._random.choice((1, "50%"))
            self._add(
                "policy/v1",
                "PodDisruptionBudget",
                f"{MARKS[space]}-budget",
                space,
                spec={"minAvailable": least, "selector": {"matchLabels": {"app": MARKS[space]}}},
                status=status,
            )

    # ---- plans

    def _plan(self, space: str, preemptor: Object, members: list[Object]) -> None:
        """A stored plan, and the whole one if it names others."""
        meta, observed = preemptor["metadata"], self._is(0.3)
        chosen = self._random.sample(self._pods, self._random.randint(0, min(3, len(self._pods))))
        phase = "Observed" if observed else self._random.choice(PHASES)
        outcome: Outcome = "Unschedulable" if phase == "Unschedulable" else "Preempts"
        spec = PreemptionPlanSpec(
            preemptor=Preemptor(
                preemptor["kind"],
                preemptor["apiVersion"],
                space,
                meta["name"],
                meta["uid"],
                preemptor["spec"]["priority"],
            ),
            outcome=outcome,
            reason=f"it fits with {len(chosen)} victims gone",
            mode="Observe" if observed else UNSET,
            domain=Domain("rack", "r0"),
            priority_cutoff=max((each["spec"]["priority"] for each in chosen), default=None),
            placements=[
                Placement(each["metadata"]["name"], self._random.choice(self._nodes), each["metadata"]["uid"])
                for each in members
            ],
            victims=[_victim(each) for each in chosen],
            domains=[self._domain(value) for value in ("r0", "r1")],
            stopped_by_pod_disruption_budgets=[
                StoppingBudget(each, f"{MARKS[each]}-budget", LEVELS[each]) for each in NAMESPACES
            ]
            if self._is(0.3)
            else UNSET,
            excluded=[
                Excluded(f"{each}/{MARKS[each]}-run-0", "n0", f"not taken: {MARKS[each]}")
                for each in NAMESPACES
            ]
            if self._is(0.3)
            else UNSET,
        )
        name = f"{meta['name']}-{self._random.randint(0, 2**32):08x}"
        instead = Instead(InsteadVictims(pods=2), state="Same", concluded=True) if observed else None
        status = PreemptionPlanStatus(phase=phase, last_decision_time=self._time(), instead=instead)  # type: ignore[arg-type]
        status.conditions = _conditions(space, phase, status.last_decision_time or "")
        withheld = _withheld(spec, space)
        self._add(
            OURS,
            "PreemptionPlan",
            name,
            space,
            spec=msgspec.to_builtins(withheld),
            status=msgspec.to_builtins(status),
        )
        if withheld != spec and self._is(0.8):
            whole = whole_plan_name(space, name)
            self._add(OURS, "ClusterPreemptionPlan", whole, spec=msgspec.to_builtins(spec))

    def _domain(self, value: str) -> DomainResult:
        level = LEVELS[self._random.choice(NAMESPACES)] + 5
        reason = f"costs more: highest victim priority {level}, not {level - 1}"
        return DomainResult(value, "Preempts", reason, Score(0, level, level, 1, 1, self._time()))

    # ---- quota

    def _quota(self, space: str) -> None:
        mark = MARKS[space]
        self._add(KUEUE, "LocalQueue", f"{mark}-local", space, spec={"clusterQueue": f"queue-{mark}"})
        for number in range(self._random.randint(0, 2)):
            self._holders.append(self._workload(space, f"{mark}-held-{number}", held=True))
        for number in range(self._random.randint(0, 2)):
            waiting = self._workload(space, f"{mark}-wants-{number}", held=False)
            if number:
                self._turn(space, waiting)
            if self._is(0.4) and self._holders:
                self._quota_plan(space, waiting)

    def _workload(self, space: str, name: str, *, held: bool) -> Object:
        cpu = str(self._random.randint(1, 4))
        template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
        spec: Object = {
            "queueName": f"{MARKS[space]}-local",
            "priority": self._priority(space),
            "podSets": [{"name": "main", "count": 1, "template": template}],
        }
        if not held and self._is(0.2):
            spec["preemptionGates"] = [{"name": f"{MARKS[space]}.example.com/gate"}]
        meta: Object = {}
        if self._is(0.3):  # nobody owns anything in another namespace, but somebody may write so
            whose = MARKS[self._random.choice(NAMESPACES)]
            meta["ownerReferences"] = [_owner("batch/v1", "Job", f"{whose}-job", f"uid-job-{whose}-job")]
        made = self._add(KUEUE, "Workload", name, space, metadata=meta, spec=spec, status={})
        if held:
            cpu = HUGE if self._is(0.15) else cpu
            usage = {"name": "main", "count": 1, "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": cpu}}
            made["status"] = {
                "admission": {"clusterQueue": f"queue-{MARKS[space]}", "podSetAssignments": [usage]},
                "conditions": [
                    self._true("QuotaReserved", space),
                    *([self._true("Admitted", space)] if self._is(0.7) else []),
                    *([self._true("Evicted", space)] if self._is(0.1) else []),
                ],
            }
        elif self._is(0.5):
            made["status"] = {"conditions": [{**self._true("QuotaReserved", space), "status": "False"}]}
        return made

    def _true(self, kind: str, space: str) -> Object:
        said = f"it is so, {MARKS[space]} says"
        return {
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": said,
            "lastTransitionTime": self._time(),
        }

    def _quota_plan(self, space: str, workload: Object) -> None:
        meta = workload["metadata"]
        proposes = "preemptionGates" in workload["spec"]
        victims = [_holder(each) for each in self._holders[:2]]
        spec = PreemptionPlanSpec(
            preemptor=Preemptor(
                "Workload", KUEUE, space, meta["name"], meta["uid"], workload["spec"]["priority"]
            ),
            outcome="Proposes" if proposes else "Preempts",
            reason="others give back what they hold",
            victims=victims,
            cost=PlanCost(max(each.priority for each in victims), 1, len(victims), 2, 60)
            if proposes
            else UNSET,
        )
        status = {"phase": "Proposed" if proposes else "Evicting", "lastDecisionTime": self._time()}
        name = f"{meta['name']}-plan"
        withheld = _withheld(spec, space)
        self._add(OURS, "PreemptionPlan", name, space, spec=msgspec.to_builtins(withheld), status=status)
        if withheld != spec:
            self._add(
                OURS, "ClusterPreemptionPlan", whole_plan_name(space, name), spec=msgspec.to_builtins(spec)
            )

    def _turn(self, space: str, workload: Object) -> None:
        """A worker cluster may preempt for it."""
        meta, priority = workload["metadata"], workload["spec"]["priority"]
        cost = PlanCost(priority, priority, 1, 2, 60)
        said = f"asks, as {MARKS[space]} says"
        spec = DispatchPlanSpec(
            workload=DispatchedWorkload(meta["name"], meta["uid"], NOW, priority),
            number=1,
            cluster="east",
            order="LeastDisruption",
            reason=f"it costs least, {MARKS[space]} says",
            began=NOW,
            until=NOW,
            clusters=[WorkerCluster("east", said, 0, 0, cost)],
        )
        name = f"{meta['name']}-turn"
        self._add(OURS, "DispatchPlan", name, space, spec=msgspec.to_builtins(spec))

    # ---- what is asked

    def questions(self) -> Iterator[tuple[str, str, str]]:
        """Kind, namespace and name of everything that may be asked about."""
        kinds = {"Pod": "pod", "Job": "job", "Workload": "workload"}
        for each in self.objects:
            meta, kind = each["metadata"], kinds.get(each["kind"])
            if each["kind"] == "PodGroup":
                foreign = each["apiVersion"] != OURS
                name = f"podgroups.scheduling.volcano.sh:{meta['name']}" if foreign else meta["name"]
                yield "podgroup", meta["namespace"], name
            elif kind is not None:
                yield kind, meta["namespace"], meta["name"]


def _conditions(space: str, phase: str, time: str) -> list[Condition]:
    """Of a plan: that it evicts, if it came to that, and its phase."""
    types = [*(["Evicting"] if phase in EVICTING else []), *([phase] if phase != "Evicting" else [])]
    says = f"it is so, {MARKS[space]} says"
    return [Condition(each, "True", "SaidSo", says, time, 1) for each in types]


def _owner(version: str, kind: str, name: str, uid: str) -> Object:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}


def _victim(pod: Object) -> Victim:
    meta = pod["metadata"]
    it = VictimPod(meta["namespace"], meta["name"], meta["uid"], pod["spec"]["nodeName"])
    return Victim("Pod", meta["namespace"], meta["name"], meta["uid"], pod["spec"]["priority"], False, [it])


def _holder(workload: Object) -> Victim:
    meta = workload["metadata"]
    queue = workload["status"]["admission"]["clusterQueue"]
    quota = VictimQuota("InCohortReclamation", queue, f"/all/{queue}", NOW)
    spec = workload["spec"]
    return Victim(
        "Workload", meta["namespace"], meta["name"], meta["uid"], spec["priority"], False, [], quota
    )


def _withheld(spec: PreemptionPlanSpec, space: str) -> PreemptionPlanSpec:
    """As the preemptor's namespace may read it."""
    hidden = [
        each
        if each.namespace == space
        else msgspec.structs.replace(
            each,
            namespace="",
            name="",
            pods=[VictimPod("", "", pod.uid, pod.node) for pod in each.pods],
        )
        for each in spec.victims
    ]
    budgets = spec.stopped_by_pod_disruption_budgets
    excluded = spec.excluded
    return msgspec.structs.replace(
        spec,
        victims=hidden,
        stopped_by_pod_disruption_budgets=budgets
        and [each if each.namespace == space else StoppingBudget("", "", each.allowed) for each in budgets],
        excluded=excluded
        and [
            each
            if each.pod.startswith(f"{space}/")
            else Excluded("", each.node, "the plans of that namespace say more")
            for each in excluded
        ],
    )
