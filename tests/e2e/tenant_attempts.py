"""What a tenant with all rights in one namespace writes to have a foreign pod evicted, kind by kind."""

from __future__ import annotations

from typing import Final

import msgspec

from api.meta import ObjectMeta
from api.plans import ClusterPreemptionPlan, PreemptionPlan
from controllers.gangs.lifecycle.stored_plan import FINALIZER
from hack.controlplane import objects
from hack.controlplane.client import path_of
from tests.e2e.tenant import HIGHEST, USER, Attempt, forged_plan, forged_quota_plan, forged_turn

__all__ = ["ATTEMPTS"]

HIGH: Final = 2000
"""Of a class of the cluster, which a PodGroup may name."""
NOW: Final = "2026-01-01T00:00:00Z"
PLANS: Final = "reprieve.dev/v1alpha1 preemptionplans"


def plan_created(attempt: Attempt) -> None:
    attempt.gang()
    attempt.create(forged_plan(attempt, "plan-created"))


def plan_named_like_ours(attempt: Attempt) -> None:
    """By a service account `reprieve`, in the tenant's namespace."""
    attempt.gang()
    attempt.create(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "reprieve", "namespace": attempt.namespace},
        }
    )
    account = attempt.client.impersonating(
        f"system:serviceaccount:{attempt.namespace}:reprieve", "system:serviceaccounts"
    )
    attempt.tries(lambda: account.create(forged_plan(attempt, "plan-account")))
    account.close()


def plan_owned(attempt: Attempt) -> None:
    """What the garbage collector does with a plan, it does for whoever wrote the ownerReference."""
    attempt.gang()
    body = forged_plan(attempt, "plan-owned")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}
    body["metadata"]["ownerReferences"] = [owner]
    attempt.create(body)


def plan_of_workloads(attempt: Attempt) -> None:
    """A plan of the quota plane."""
    attempt.create(forged_quota_plan(attempt, "plan-of-workloads"))


def turn_created(attempt: Attempt) -> None:
    """Of a worker cluster, to preempt for a Workload."""
    attempt.create(forged_turn(attempt, "turn-created"))


def plan_status(attempt: Attempt) -> None:
    """Of a plan that reprieve made: this group fits nowhere."""
    attempt.gang()
    plan = attempt.sandbox.wait_plan(attempt.name)["metadata"]["name"]
    condition = {
        "type": "Evicting",
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": NOW,
    }
    begun = [attempt.foreign["metadata"]["uid"]]
    status = {"phase": "Evicting", "conditions": [condition], "begun": begun}
    attempt.send("PATCH", f"{PLANS}/{plan}/status", {"status": status})


def plan_changed(attempt: Attempt) -> None:
    attempt.gang()
    plan = attempt.sandbox.wait_plan(attempt.name)["metadata"]["name"]
    attempt.send("PATCH", f"{PLANS}/{plan}", {"spec": {"outcome": "Preempts"}})
    attempt.send("PATCH", f"{PLANS}/{plan}", {"metadata": {"finalizers": [FINALIZER]}})
    attempt.send("PATCH", f"{PLANS}/{plan}", {"metadata": {"labels": {"a": "b"}}})
    attempt.send("DELETE", f"{PLANS}/{plan}")
    attempt.send("DELETE", PLANS)


def whole_plan(attempt: Attempt) -> None:
    attempt.gang()
    spec = msgspec.convert(forged_plan(attempt, "whole"), PreemptionPlan).spec
    plan = ClusterPreemptionPlan(metadata=ObjectMeta(name=f"{attempt.namespace}.whole"), spec=spec)
    attempt.create(msgspec.to_builtins(plan))


def group_class(attempt: Attempt) -> None:
    attempt.gang(value=HIGH)


def group_priority(attempt: Attempt) -> None:
    attempt.gang(priority=HIGHEST)


def group_system_class(attempt: Attempt) -> None:
    body = attempt.group(value=None, priorityClassName="system-node-critical", priority=2_000_001_000)
    attempt.create(body, attempt.pod(group=attempt.name))


def group_whole(attempt: Attempt) -> None:
    attempt.gang(value=HIGH, mode="all")


def group_status(attempt: Attempt) -> None:
    """The group says that it has run, and that it is scheduled."""
    attempt.gang(value=HIGH)
    conditions = [
        {"type": each, "status": "True", "reason": "Scheduled", "message": "", "lastTransitionTime": NOW}
        for each in ("PodGroupInitiallyScheduled", "reprieve.dev/Scheduled", "DisruptionTarget")
    ]
    status = {"conditions": conditions, "members": 9, "requiredMembers": 0, "boundMembers": 9}
    path = f"reprieve.dev/v1alpha1 podgroups/{attempt.name}/status"
    attempt.send("PATCH", path, {"status": status})


def group_members_change(attempt: Attempt) -> None:
    """minCount grows and shrinks, members come and go."""
    attempt.gang(value=HIGH)
    path = f"reprieve.dev/v1alpha1 podgroups/{attempt.name}"
    for count in (2, 1):
        policy = {"gang": {"minCount": count}}
        attempt.send("PATCH", path, {"spec": {"schedulingPolicy": policy}})
        attempt.create(attempt.pod(f"-{count}", group=attempt.name))
    attempt.send("DELETE", f"v1 pods/{attempt.name}")


def group_named_like_theirs(attempt: Attempt) -> None:
    """The foreign pod's group is named `unit`, too, in its own namespace."""
    body = attempt.group()
    body["metadata"]["name"] = "unit"
    attempt.create(body, attempt.pod(group="unit"))


def pod_alone(attempt: Attempt) -> None:
    attempt.create(attempt.pod())


def pod_priority(attempt: Attempt) -> None:
    body = attempt.pod()
    body["spec"]["priority"] = HIGHEST
    attempt.create(body)


def pod_status(attempt: Attempt) -> None:
    """Nominated to the node, and marked as others mark victims."""
    attempt.gang()
    kinds = ("DisruptionTarget", "PodScheduled", "reprieve.dev/Held")
    conditions = [
        {"type": each, "status": "True", "reason": "PreemptionByScheduler", "lastTransitionTime": NOW}
        for each in kinds
    ]
    attempt.pod_status({"nominatedNodeName": attempt.node, "conditions": conditions})


def pod_annotations(attempt: Attempt) -> None:
    mirror = {"kubernetes.io/config.mirror": "x"}
    attempt.create(attempt.pod("-mirror", node_name=attempt.node, annotations=mirror))
    annotations = {
        "kubernetes.io/config.source": "file",
        "reprieve.dev/priority": str(HIGHEST),
        "scheduling.k8s.io/preemption-cost": "-1",
    }
    attempt.create(attempt.group(), attempt.pod(group=attempt.name, annotations=annotations))


def pod_gates(attempt: Attempt) -> None:
    gates = [{"name": "reprieve.dev/gang"}, {"name": "example.com/mine"}]
    attempt.create(attempt.group(value=HIGH), attempt.pod(group=attempt.name, schedulingGates=gates))
    attempt.send("PATCH", f"v1 pods/{attempt.name}", {"spec": {"schedulingGates": []}})


def pod_owners(attempt: Attempt) -> None:
    """Owned by the foreign pod, which is not there for the garbage collector, and the other way round."""
    theirs = attempt.foreign["metadata"]
    body = attempt.pod(group=attempt.name)
    body["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": theirs["name"],
            "uid": theirs["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    attempt.create(attempt.group(), body)


def pod_bound(attempt: Attempt) -> None:
    """Bound to the node by the tenant, who never asks a scheduler: one member of two."""
    policy = {"gang": {"minCount": 2}}
    body = attempt.group(value=HIGH)
    body["spec"]["schedulingPolicy"] = policy
    attempt.create(body, attempt.pod(group=attempt.name), attempt.pod("-2", group=attempt.name))
    target = {"apiVersion": "v1", "kind": "Node", "name": attempt.node}
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": attempt.name},
        "target": target,
    }
    attempt.send("POST", f"v1 pods/{attempt.name}/binding", binding)


def pod_moves(attempt: Attempt) -> None:
    """The foreign pod's own subresources."""
    theirs = attempt.foreign["metadata"]
    path = path_of("v1", "Pod", theirs["namespace"], theirs["name"])
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": theirs["name"]}}
    attempt.tries(lambda: attempt.client.request("POST", f"{path}/eviction", eviction))
    attempt.tries(lambda: attempt.client.request("DELETE", path))


def budget(attempt: Attempt) -> None:
    """It names the foreign pod as disrupted already."""
    attempt.gang()
    body = objects.pod_disruption_budget(attempt.name, attempt.namespace, {}, min_available=0)
    body["spec"]["selector"] = {}
    attempt.create(body)
    status = {
        "disruptedPods": {attempt.foreign["metadata"]["name"]: NOW},
        "disruptionsAllowed": 99,
        "currentHealthy": 99,
        "desiredHealthy": 0,
        "expectedPods": 99,
        "observedGeneration": 1,
    }
    path = f"policy/v1 poddisruptionbudgets/{attempt.name}/status"
    attempt.send("PATCH", path, {"status": status})


def job(attempt: Attempt) -> None:
    pod = attempt.pod(group=attempt.name, restartPolicy="Never")
    template = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": attempt.name, "namespace": attempt.namespace},
        "spec": {"template": template, "backoffLimit": 0},
    }
    attempt.create(attempt.group(value=HIGH), body)


def event(attempt: Attempt) -> None:
    """It says that the foreign pod was preempted."""
    attempt.gang()
    theirs = attempt.foreign["metadata"]
    regarding = {"apiVersion": "v1", "kind": "Pod", "name": theirs["name"], "uid": theirs["uid"]}
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": attempt.name, "namespace": attempt.namespace},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "reprieve.dev/reprieve",
        "reportingInstance": "reprieve",
        "action": "Preempting",
        "reason": "Preempted",
        "type": "Normal",
        "note": "Preempted by PodGroup",
        "regarding": regarding | {"namespace": attempt.namespace},
    }
    attempt.send("POST", "events.k8s.io/v1 events", body)


def lease(attempt: Attempt) -> None:
    """Named like ours."""
    attempt.gang()
    meta = {"name": "reprieve", "namespace": attempt.namespace}
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": meta,
        "spec": {"holderIdentity": USER},
    }
    attempt.send("POST", "coordination.k8s.io/v1 leases", body)


ATTEMPTS: Final = {
    each.__name__.replace("_", "-"): each
    for each in (
        plan_created,
        plan_named_like_ours,
        plan_owned,
        plan_of_workloads,
        turn_created,
        plan_status,
        plan_changed,
        whole_plan,
        group_class,
        group_priority,
        group_system_class,
        group_whole,
        group_status,
        group_members_change,
        group_named_like_theirs,
        pod_alone,
        pod_priority,
        pod_status,
        pod_annotations,
        pod_gates,
        pod_owners,
        pod_bound,
        pod_moves,
        budget,
        job,
        event,
        lease,
    )
}
"""By name, in the order in which they are made."""
