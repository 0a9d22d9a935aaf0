"""What must hold of several clusters that have come to rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from api.multikueue import MULTIKUEUE_GATE, ORIGIN_LABEL, PREBUILT_WORKLOAD_ANNOTATION
from tests.kit.multicluster.history import MANAGER, Json
from tests.kit.multicluster.rules import is_true, mark_of, runs

__all__ = ["Stand", "unrest"]


@dataclass(frozen=True)
class Stand:
    """The objects of all clusters, by cluster and kind."""

    objects: Mapping[str, Mapping[str, list[Json]]]
    check: str
    """The AdmissionCheck of several clusters."""
    clusters: tuple[str, ...]
    """Those of its MultiKueueConfig."""

    def of(self, cluster: str, kind: str) -> list[Json]:
        """The objects of a kind in a cluster."""
        return self.objects.get(cluster, {}).get(kind, [])

    @property
    def workers(self) -> list[str]:
        return sorted(self.objects.keys() - {MANAGER})

    def copies(self, kind: str) -> Iterator[tuple[str, Json]]:
        """Cluster and object, of all that has an origin."""
        for cluster in self.workers:
            for body in self.of(cluster, kind):
                if ORIGIN_LABEL in (body["metadata"].get("labels") or {}):
                    yield cluster, body


def unrest(stand: Stand) -> list[str]:
    """Everything that is wrong. Empty if the clusters are at rest."""
    here = {str(each["metadata"]["uid"]): each for each in stand.of(MANAGER, "Workload")}
    return [
        *_strays(stand, here),
        *_quota_without_job(stand),
        *_unchosen(stand, here),
        *_untrue(stand),
        *_turns(stand, here),
    ]


def attempt_of(workload: Json) -> str:
    """When the Workload got its quota; empty without quota."""
    for each in workload.get("status", {}).get("conditions") or ():
        if each["type"] == "QuotaReserved" and each["status"] == "True":
            return str(each["lastTransitionTime"])
    return ""


def _strays(stand: Stand, here: Mapping[str, Json]) -> Iterator[str]:
    """Copies that belong to no present attempt."""
    for kind in ("Workload", "Job"):
        for cluster, body in stand.copies(kind):
            reason = _stray(stand, here, cluster, body)
            if reason:
                yield f"{kind} {_key(body)} is left in {cluster}: {reason}"


def _stray(stand: Stand, here: Mapping[str, Json], cluster: str, body: Json) -> str:
    """Why a copy belongs to no present attempt; empty if it does."""
    _, uid, attempt = mark_of(body)
    workload = here.get(uid)
    if "deletionTimestamp" in body["metadata"]:
        return "it is being deleted"
    if workload is None:
        return f"its Workload {uid or '(no mark)'} is gone"
    if attempt != attempt_of(workload):
        return f"its attempt is {attempt}, and the present one is {attempt_of(workload) or '(none)'}"
    if is_true(workload, "Finished"):
        return "its Workload has finished"
    if workload["spec"].get("active") is False:
        return "its Workload is not active"
    if cluster not in stand.clusters:
        return "the cluster is not in the config"
    if _state(stand, workload) == "Rejected":
        return "its check is Rejected"
    chosen = workload["status"].get("clusterName")
    if chosen and chosen != cluster:
        return f"{chosen} was chosen"
    return ""


def _quota_without_job(stand: Stand) -> Iterator[str]:
    """Quota of Workloads whose Job is gone."""
    jobs = {each["metadata"]["uid"] for each in stand.of(MANAGER, "Job")}
    for each in stand.of(MANAGER, "Workload"):
        owners = {owner["uid"] for owner in each["metadata"].get("ownerReferences") or ()}
        if attempt_of(each) and not is_true(each, "Finished") and not owners & jobs:
            yield f"Workload {_key(each)} has quota, and no Job"
    for cluster, copy in stand.copies("Workload"):
        users = [job for job in stand.of(cluster, "Job") if _uses(job, copy)]
        if is_true(copy, "Admitted") and not is_true(copy, "Finished") and not users:
            yield f"Workload {_key(copy)} is Admitted in {cluster}, and no Job there uses it"


def _unchosen(stand: Stand, here: Mapping[str, Json]) -> Iterator[str]:
    """Copies that are Admitted, or Jobs that run, where their Workload was not sent; and the other way round."""
    for cluster, copy in stand.copies("Workload"):
        workload = here.get(mark_of(copy)[1])
        if workload is not None and is_true(copy, "Admitted") and _chosen(workload) != cluster:
            yield f"Workload {_key(copy)} is Admitted in {cluster}, and the manager chose {_chosen(workload)}"
    for cluster, job in stand.copies("Job"):
        workload = here.get(mark_of(job)[1])
        if workload is not None and runs(job) and _chosen(workload) != cluster:
            yield f"Job {_key(job)} runs in {cluster}, and the manager chose {_chosen(workload)}"
    for workload in here.values():
        cluster = _chosen(workload)
        if is_true(workload, "Admitted") and not is_true(workload, "Finished") and cluster:
            jobs = [job for where, job in stand.copies("Job") if where == cluster]
            if all(mark_of(job)[1] != workload["metadata"]["uid"] for job in jobs):
                yield f"Workload {_key(workload)} is Admitted, and {cluster} has no Job of it"


def _untrue(stand: Stand) -> Iterator[str]:
    """Workloads that wait without a reason, or with a reason that is not true."""
    for each in stand.of(MANAGER, "Workload"):
        if is_true(each, "Finished") or is_true(each, "Admitted") or each["spec"].get("active") is False:
            continue
        if not attempt_of(each):
            if not _message(each):
                yield f"Workload {_key(each)} waits without a reason"
            continue
        state, said = _state(stand, each), _said(stand, each)
        if state != "Pending":
            yield f"Workload {_key(each)} has quota and its check is {state or 'missing'}, but it is not Admitted"
        else:
            for cluster in stand.clusters:
                yield from _untrue_line(stand, each, cluster, said)


def _untrue_line(stand: Stand, workload: Json, cluster: str, said: str) -> Iterator[str]:
    """Whether the check's line about a cluster is true, as far as it can be seen there."""
    uid = workload["metadata"]["uid"]
    line = next((each for each in said.splitlines() if each.startswith(f"{cluster}: ")), "")
    text = line.removeprefix(f"{cluster}: ")
    copy = next(
        (body for where, body in stand.copies("Workload") if where == cluster and mark_of(body)[1] == uid),
        None,
    )
    expected = next((holds for prefix, holds in TRUE_IF.items() if text.startswith(prefix)), None)
    if not text:
        yield f"the check of {_key(workload)} says nothing of {cluster}: {said!r}"
    elif expected is None or not expected(copy):
        yield f"the check of {_key(workload)} says of {cluster}, which is not so: {text!r}"


def _turns(stand: Stand, here: Mapping[str, Json]) -> Iterator[str]:
    """Turns that last although nobody waits, and gates that are open outside a turn."""
    lasting: dict[str, set[str]] = {}
    for plan in stand.of(MANAGER, "DispatchPlan"):
        if (plan.get("status") or {}).get("phase", "Open") != "Open":
            continue
        spec = plan["spec"]["workload"]
        workload = here.get(spec["uid"])
        lasting.setdefault(spec["uid"], set()).add(plan["spec"]["cluster"])
        if workload is None or attempt_of(workload) != spec["attempt"] or is_true(workload, "Finished"):
            yield f"DispatchPlan {_key(plan)} is Open, and its attempt is over"
    for cluster, copy in stand.copies("Workload"):
        uid = mark_of(copy)[1]
        waits = not is_true(copy, "QuotaReserved")
        if waits and _is_open(copy) and cluster not in lasting.get(uid, set()):
            yield f"the gate of {_key(copy)} is open in {cluster}, whose turn it is not"


TRUE_IF: Final[Mapping[str, Callable[[Json | None], bool]]] = {
    "not in this attempt": lambda _: True,
    "another manager has": lambda copy: copy is None,
    "it does not honour": lambda copy: copy is None,
    "holds quota": lambda copy: copy is not None and is_true(copy, "QuotaReserved"),
    "may preempt until": lambda copy: copy is not None and _is_open(copy),
    "would have to preempt": lambda copy: copy is not None and is_true(copy, "BlockedOnPreemptionGates"),
    "waits for quota": lambda copy: copy is not None and not is_true(copy, "QuotaReserved"),
}
"""By the beginning of a line of the check's message: what must hold of the copy there. Other lines tell of something
that is under way, and are not true when everything is at rest and connected."""


# ---- what they look at


def _key(body: Json) -> str:
    return f"{body['metadata'].get('namespace', '')}/{body['metadata']['name']}"


def _chosen(workload: Json) -> str:
    return str(workload.get("status", {}).get("clusterName") or "")


def _checks(stand: Stand, workload: Json) -> Iterator[Json]:
    for each in workload.get("status", {}).get("admissionChecks") or ():
        if each["name"] == stand.check:
            yield each


def _state(stand: Stand, workload: Json) -> str:
    return next((str(each["state"]) for each in _checks(stand, workload)), "")


def _said(stand: Stand, workload: Json) -> str:
    return next((str(each.get("message", "")) for each in _checks(stand, workload)), "")


def _message(workload: Json) -> str:
    """Why it has no quota."""
    conditions = workload.get("status", {}).get("conditions") or ()
    found = [str(each["message"]) for each in conditions if each["type"] == "QuotaReserved"]
    return found[0] if found else ""


def _uses(job: Json, copy: Json) -> bool:
    """Whether a Job has the prebuilt name of a copy."""
    meta = job["metadata"]
    named = {**(meta.get("labels") or {}), **(meta.get("annotations") or {})}
    used = f"{meta.get('namespace', '')}/{named.get(PREBUILT_WORKLOAD_ANNOTATION)}"
    return used == _key(copy)


def _is_open(copy: Json) -> bool:
    gates = copy.get("status", {}).get("preemptionGates") or ()
    return any(each["name"] == MULTIKUEUE_GATE and each["position"] == "Open" for each in gates)
