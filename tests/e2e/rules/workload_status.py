"""Rules for the status of Workloads: Kueue's."""

from __future__ import annotations

from typing import Any, Final

from tests.e2e.rules.table import ABSENT, Edits, Json, Rule
from tests.kit.manifests import (
    TIME,
    condition,
    reserved,
    workload,
)

__all__ = ["STATUS", "WAITING", "checks", "of"]

WAITING: Final = workload(status={})
HELD: Final = workload(status=reserved())
ASSIGNMENTS: Final = "status/admission/podSetAssignments"
ASSIGNMENT_FIELD: Final = "status.admission.podSetAssignments[1]"
CONDITION: Final = "status.conditions[0]"


def of(name: str, base: Json, bad: Edits, *causes: str, good: Edits | None = None, user: str = "") -> Rule:
    """A rule about writes of the status."""
    return Rule.of(name, base, bad, *causes, good=good, user=user, subresource="status")


def conditions(count: int = 1, **fields: Any) -> Edits:
    """`count` conditions."""
    return {"status/conditions": [condition(f"C{number}", **fields) for number in range(count)]}


def checks(count: int = 1, **fields: Any) -> Edits:
    """`count` admission checks."""
    made = {"state": "Pending", "lastTransitionTime": TIME, "message": "", **fields}
    return {"status/admissionChecks": [{"name": f"c{number}", **made} for number in range(count)]}


def reclaimable(**pods: int) -> Edits:
    """Pods that need their quota no more."""
    return {"status/reclaimablePods": [{"name": name, "count": count} for name, count in pods.items()]}


def assignments(count: int) -> Edits:
    """`count` assignments of quota that is not reserved: nothing counts pod sets."""
    made = [{"name": f"p{number}"} for number in range(count)]
    return {"status/admission": {"clusterQueue": "queue", "podSetAssignments": made}}


def update(**fields: Any) -> Edits:
    """What a check adds to the pods of the driver."""
    return checks(podSetUpdates=[{"name": "driver", **fields}])


UPDATE: Final = "status.admissionChecks[0].podSetUpdates[0]"
STATUS: Final = (
    # The API server asks itself what of it changes before it asks us.
    of("a status is an object", WAITING, {"status": ["a"]}, "status TypeInvalid", good={"status": {}}),
    of(
        "CRD: at most 16 conditions",
        WAITING,
        conditions(17),
        "status.conditions TooMany",
        good=conditions(16),
    ),
    of(
        "CRD: at most 8 admission checks",
        WAITING,
        checks(9),
        "status.admissionChecks TooMany",
        good=checks(8),
    ),
    of(
        "CRD: an admission check once",
        WAITING,
        {"status/admissionChecks": checks(2)["status/admissionChecks"] + checks()["status/admissionChecks"]},
        "status.admissionChecks[2] Duplicate",
        good=checks(2),
    ),
    of(
        "CRD: at most 18 assignments",
        WAITING,
        assignments(19),
        "status.admission.podSetAssignments TooMany",
        good=assignments(18),
    ),
    of(
        "CRD: the state of a check",
        WAITING,
        checks(state="Waiting"),
        "status.admissionChecks[0].state NotSupported",
        good=checks(state="Rejected"),
    ),
    of(
        "CRD: the message of a check",
        WAITING,
        checks(message="x" * 32769),
        "status.admissionChecks[0].message TooLong",
        good=checks(message="x" * 32768),
    ),
    of(
        "CRD: requeueState.count",
        WAITING,
        {"status/requeueState": {"count": -1}},
        "status.requeueState.count Invalid",
        good={"status/requeueState": {"count": 0}},
    ),
    of(
        "CRD: at most 18 reclaimable pods",
        WAITING,
        reclaimable(**{f"p{number}": 0 for number in range(19)}),
        "status.reclaimablePods TooMany",
        good=reclaimable(workers=1),
    ),
    of(
        "CRD: clusterName stays",
        workload(status={"clusterName": "near"}),
        {"status/clusterName": "far"},
        "status Invalid",
        good={"status/clusterName": ABSENT},
    ),
    of(
        "CRD: clusterName or nominatedClusterNames",
        workload(status={"nominatedClusterNames": ["near"]}),
        {"status/clusterName": "near"},
        "status Invalid",
        good={"status/clusterName": "near", "status/nominatedClusterNames": ABSENT},
    ),
    of(
        "CRD: as many assignments as pod sets",
        WAITING,
        {"status": reserved(admission={"clusterQueue": "a", "podSetAssignments": [{"name": "driver"}]})},
        "<nil> Invalid",
        good={"status": reserved()},
    ),
    of(
        "webhook: quota has an admission",
        WAITING,
        {"status": reserved(admission=None)},
        "status.admission Required",
        good={"status": reserved()},
    ),
    of(
        "webhook: assignments are for pod sets",
        WAITING,
        {"status": reserved(), f"{ASSIGNMENTS}/1/name": "gone"},
        f"{ASSIGNMENT_FIELD}.name NotFound",
        good={"status": reserved()},
    ),
    of(
        "webhook: resourceUsage is that of the number of pods",
        WAITING,
        {"status": reserved(), f"{ASSIGNMENTS}/1/resourceUsage": {"cpu": "4002m"}},
        f"{ASSIGNMENT_FIELD}.resourceUsage[cpu] Invalid",
        good={"status": reserved(), f"{ASSIGNMENTS}/1/resourceUsage": {"cpu": "4004m"}},
    ),
    of(
        "webhook: an admission stays",
        HELD,
        {f"{ASSIGNMENTS}/1/flavors": {"cpu": "on-demand"}},
        "status.admission Invalid",
        good={"status": {"conditions": [condition("QuotaReserved", "False")]}},
    ),
    of(
        "webhook: a condition's reason",
        WAITING,
        conditions(reason="a-b"),
        f"{CONDITION}.reason Invalid",
        good=conditions(reason="AtB"),
    ),
    of(
        "webhook: a condition's type",
        WAITING,
        {"status/conditions": [condition("a b")]},
        f"{CONDITION}.type Invalid",
        good={"status/conditions": [condition("A")]},
    ),
    of(
        "webhook: a condition's time",
        WAITING,
        conditions(lastTransitionTime="0001-01-01T00:00:00Z"),
        f"{CONDITION}.lastTransitionTime Required",
        good=conditions(),
    ),
    of(
        "webhook: a condition's status",
        WAITING,
        conditions(status="Maybe"),
        f"{CONDITION}.status NotSupported",
        good=conditions(status="Unknown"),
    ),
    of(
        "webhook: a condition's message",
        WAITING,
        conditions(message="x" * 32769),
        f"{CONDITION}.message TooLong",
        good=conditions(message="x" * 32768),
    ),
    of(
        "webhook: a condition once",
        WAITING,
        {"status/conditions": [condition("A"), condition("A", "False")]},
        "status.conditions[1] Duplicate",
        good={"status/conditions": [condition("A"), condition("B", "False")]},
    ),
    of(
        "webhook: reclaimable pods are of pod sets",
        WAITING,
        reclaimable(gone=0),
        "status.reclaimablePods[gone].name NotSupported",
        good=reclaimable(driver=0),
    ),
    of(
        "webhook: reclaimable pods are no more than there are",
        WAITING,
        reclaimable(workers=5),
        "status.reclaimablePods[workers].count Invalid",
        good=reclaimable(workers=4),
    ),
    of(
        "webhook: reclaimable pods do not become fewer",
        workload(status=reserved(reclaimablePods=[{"name": "workers", "count": 3}])),
        reclaimable(workers=2),
        "status.reclaimablePods[workers].count Invalid",
        good=reclaimable(workers=4),
    ),
    of(
        "webhook: reclaimable pods are not taken away",
        workload(status=reserved(reclaimablePods=[{"name": "workers", "count": 3}])),
        reclaimable(driver=1),
        "status.reclaimablePods[workers] Required",
        good=reclaimable(workers=3, driver=1),
    ),
    of(
        "webhook: checks add to pod sets",
        WAITING,
        checks(podSetUpdates=[{"name": "gone"}]),
        f"{UPDATE}.name NotSupported",
        good=checks(podSetUpdates=[{"name": "driver"}]),
    ),
    *(
        of(
            f"webhook: {field} that checks add",
            WAITING,
            update(**{field: {"/a": "b"}}),
            f"{UPDATE}.{field} Invalid",
            good=update(**{field: {"b/a": "b"}}),
        )
        for field in ("labels", "annotations", "nodeSelector")
    ),
    of(
        "webhook: tolerations that checks add",
        WAITING,
        update(tolerations=[{"key": "-"}]),
        f"{UPDATE}.tolerations[0].key Invalid",
        good=update(tolerations=[{"key": "a"}]),
    ),
    of(
        "webhook: what a Ready check adds stays",
        workload(status={"admissionChecks": checks(state="Ready")["status/admissionChecks"]}),
        checks(state="Ready", podSetUpdates=[{"name": "driver"}]),
        "status.admissionChecks[0].podSetUpdates Invalid",
        good=checks(state="Retry", podSetUpdates=[{"name": "driver"}]),
    ),
    of(
        "webhook: clusterName was nominated",
        workload(status={"nominatedClusterNames": ["near", "far"]}),
        {"status": {"clusterName": "other"}},
        "status.clusterName Invalid",
        good={"status": {"clusterName": "far"}},
    ),
    of(
        "times that Go can read",
        WAITING,
        {"status/requeueState": {"requeueAt": "2026-01-02t03:04:05z"}},
        "status.requeueState.requeueAt Invalid",
        good={"status/requeueState": {"requeueAt": "2026-01-02T03:04:05Z"}},
    ),
)
