"""What the manager creates in worker clusters: copies of Workloads and Jobs. Pure functions over JSON.

The source is pkg/controller/admissionchecks/multikueue and pkg/controller/jobs/job/job_multikueue_adapter.go of Kueue,
with the differences that docs/kueue-differences.md names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from api.integration import MIN_PARALLELISM_ANNOTATION, PREBUILT_WORKLOAD_LABEL
from api.jobs import OF_THE_JOB, pods_at_once
from api.kueue import API_VERSION
from api.multikueue import DISPATCHED_BY, MULTIKUEUE_GATE, ORIGIN_LABEL, PREBUILT_WORKLOAD_ANNOTATION
from api.partial_jobs import completions_follow, min_parallelism
from api.workloads import JOB_UID_LABEL
from controllers.multikueue.kinds.kind import Json
from controllers.multikueue.life.seen import Mark

__all__ = ["copy_body", "job_body", "sent_metadata"]

LONGEST_LABEL: Final = 63
NOT_THERE: Final = ("managedBy", "selector", "manualSelector", "ttlSecondsAfterFinished")
"""Fields of a Job's spec that no Job in a worker cluster gets. That cluster runs it, and makes its selector. A finished
Job stays until its end is known here (Kueue's issue 14734)."""
APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""It describes the object here."""


def copy_body(workload: Json, mark: Mark, origin: str, *, has_gate: bool) -> dict[str, Any]:
    """The copy of a Workload, as it is created. `has_gate`: it gets the gate of MultiKueue, closed.

    Its pod sets have as many pods as the quota here is for. So no cluster runs more. If that is already the least
    number with which the Workload may start (minCount), the copy needs all of its pods.
    """
    spec = {key: value for key, value in workload["spec"].items() if key != "preemptionGates"}
    counts = _admitted(workload)
    spec["active"] = True
    spec["podSets"] = [_covered(each, counts) for each in spec.get("podSets") or ()]
    if has_gate:
        spec["preemptionGates"] = [{"name": MULTIKUEUE_GATE}]
    meta = sent_metadata(workload["metadata"], mark, origin)
    meta["labels"].pop(JOB_UID_LABEL, None)  # Kueue would finish it as an orphan: its owner is not there
    return {"apiVersion": API_VERSION, "kind": "Workload", "metadata": meta, "spec": spec}


def job_body(job: Json, workload: Json, mark: Mark, origin: str) -> dict[str, Any]:
    """The Job of a copy, as it is created: suspended, and with as many pods at once as the quota here is for.

    `workload`: the Job's Workload here.
    """
    spec = {key: value for key, value in job["spec"].items() if key not in NOT_THERE}
    meta, name = sent_metadata(job["metadata"], mark, origin), workload["metadata"]["name"]
    labels, annotations = meta["labels"], meta["annotations"]
    annotations[PREBUILT_WORKLOAD_ANNOTATION] = name
    labels.pop(PREBUILT_WORKLOAD_LABEL, None)
    if len(name) <= LONGEST_LABEL:
        labels[PREBUILT_WORKLOAD_LABEL] = name
    most = next(iter(_admitted(workload).values()), None)  # a Job has one pod set
    pods = pods_at_once(spec.get("parallelism"), spec.get("completions"))
    if most is not None and most < pods:
        if completions_follow(annotations) and _are_equal(spec):
            spec["completions"] = most
        spec["parallelism"] = pods = most
    least = min_parallelism(annotations)
    if least is not None and least >= pods:
        del annotations[MIN_PARALLELISM_ANNOTATION]  # webhooks take it only below the number of pods
    spec |= {"suspend": True, "template": _template(spec["template"])}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def sent_metadata(meta: Json, mark: Mark, origin: str) -> dict[str, Any]:
    """Name, namespace, labels and annotations; no owner, and no finalizer: nobody there would take it off."""
    annotations = {key: value for key, value in (meta.get("annotations") or {}).items() if key != APPLIED}
    return {
        "name": meta["name"],
        "namespace": meta["namespace"],
        "labels": {**(meta.get("labels") or {}), ORIGIN_LABEL: origin},
        "annotations": {**annotations, DISPATCHED_BY: str(mark)},
    }


def _admitted(workload: Json) -> dict[str, int]:
    """By pod set: how many pods the admission is for. Empty without one."""
    admission = (workload.get("status") or {}).get("admission") or {}
    assignments: Sequence[Mapping[str, Any]] = admission.get("podSetAssignments") or ()
    # A field with the default is left out, and so is a name "main" by some writers.
    return {each.get("name", "main"): each["count"] for each in assignments if each.get("count") is not None}


def _covered(pods: Json, counts: Mapping[str, int]) -> dict[str, Any]:
    """The pod set with no more pods than have quota."""
    covered = dict(pods)
    count = covered.get("count", 1)
    most = min(count, counts.get(covered.get("name", "main"), count))
    if most < count:
        covered["count"] = most
    if covered.get("minCount") is not None and covered["minCount"] >= most:
        del covered["minCount"]
    return covered


def _template(template: Json) -> dict[str, Any]:
    """Without what the API server here has added. The one there adds its own, and refuses others."""
    meta = {key: value for key, value in (template.get("metadata") or {}).items() if value is not None}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key not in OF_THE_JOB}
    meta.pop("labels", None)
    return {**template, "metadata": {**meta, **({"labels": labels} if labels else {})}}


def _are_equal(spec: Json) -> bool:
    return spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
