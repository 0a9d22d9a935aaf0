"""What `reprieve release` frees for Kubernetes, and what for Kueue. tests/e2e tries it on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from kube.errors import ApiError
from tests.kit.apiserver import Api

Invoke = Callable[..., Result]

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
JOBS = "/apis/batch/v1/jobs"
PODS = "/api/v1/pods"
PLANS = "/apis/reprieve.dev/v1alpha1/preemptionplans"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
IN_USE = "kueue.x-k8s.io/resource-in-use"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
GROUP = {"reprieve.dev/pod-group": "g"}


def thing(name: str, *, finalizers: list[str] | None = None, **rest: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "finalizers": finalizers}
    return {"metadata": {**meta, **rest.pop("metadata", {})}, **rest}


def job(name: str, *, suspend: bool, **labels: str) -> dict[str, Any]:
    return thing(name, metadata={"labels": labels}, spec={"suspend": suspend})


def pod(name: str, *gates: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    return thing(
        name, metadata={"labels": labels}, spec={"schedulingGates": [{"name": each} for each in gates]}
    )


@pytest.fixture
def api(cluster: Api) -> Api:
    """A cluster in which everything is held."""
    cluster.put(
        JOBS,
        job("labelled", suspend=True, **{QUEUE_NAME: "q"}),
        job("owner", suspend=True),
        job("runs", suspend=False, **{QUEUE_NAME: "q"}),
        job("mine", suspend=True),
    )
    owner = {"kind": "Job", "name": "owner", "uid": "uid-owner", "controller": True}
    cluster.put(
        f"{KUEUE}/workloads",
        thing("job-owner", finalizers=[IN_USE], metadata={"ownerReferences": [owner]}),
        thing("bare"),
    )
    cluster.put(f"{KUEUE}/clusterqueues", thing("cq", finalizers=[IN_USE], metadata={"namespace": ""}))
    cluster.put(PLANS, thing("plan", finalizers=["reprieve.dev/active-plan"]), thing("ended"))
    cluster.put(
        PODS,
        pod("member", "reprieve.dev/gang", "kueue.x-k8s.io/admission", labels=GROUP),
        pod("alone", "kueue.x-k8s.io/admission"),
        pod("others", "example.com/wait"),
    )
    return cluster


def gates(api: Api) -> dict[str, list[str]]:
    return {
        name: [each["name"] for each in body["spec"]["schedulingGates"]]
        for name, body in api.of(PODS).items()
    }


def suspended(api: Api) -> set[str]:
    return {name for name, body in api.of(JOBS).items() if body["spec"]["suspend"]}


def test_for_stock_kubernetes_nothing_waits_for_quota_any_longer(api: Api, invoke: Invoke) -> None:
    result = invoke("release")
    assert (result.exit_code, result.stderr) == (0, "")
    assert suspended(api) == {"mine"}, "its owner suspended it"
    assert not api.of(f"{KUEUE}/workloads")
    assert api.of(f"{KUEUE}/clusterqueues")["cq"]["metadata"]["finalizers"] == []
    assert api.of(PLANS)["plan"]["metadata"]["finalizers"] == []
    assert gates(api) == {"member": [], "alone": [], "others": ["example.com/wait"]}
    assert "Job ns/owner: resumed\n" in result.stdout
    assert "Workload ns/bare: deleted\n" in result.stdout
    assert result.stdout.endswith("\n9 objects freed; 0 still held.\n")
    assert invoke("release").stdout == "0 objects freed; 0 still held.\n"


def test_for_kueue_all_that_kueue_goes_on_with_stays(api: Api, invoke: Invoke) -> None:
    result = invoke("release", "--to", "Kueue")
    assert (result.exit_code, result.stderr) == (0, "")
    assert suspended(api) == {"labelled", "owner", "mine"}
    assert set(api.of(f"{KUEUE}/workloads")) == {"job-owner", "bare"}
    assert api.of(f"{KUEUE}/clusterqueues")["cq"]["metadata"]["finalizers"] == [IN_USE]
    assert api.of(PLANS)["plan"]["metadata"]["finalizers"] == []
    assert gates(api) == {
        "member": [],
        "alone": ["kueue.x-k8s.io/admission"],
        "others": ["example.com/wait"],
    }


def test_what_stays_held_is_named(api: Api, invoke: Invoke) -> None:
    api.refuse = lambda method, path: (
        ApiError(403, "Forbidden", "x") if method == "PATCH" and path.endswith("/jobs/labelled") else None
    )
    result = invoke("release")
    assert result.exit_code == 1
    assert (
        result.stderr
        == "Error: Job ns/labelled: 403 Forbidden: x\nError: Job ns/labelled: the Job is suspended\n"
    )


def test_it_warns_where_kueue_is_installed(api: Api, invoke: Invoke) -> None:
    api.put(WEBHOOKS, {"metadata": {"name": "kueue-mutating-webhook-configuration"}})
    assert "See --to Kueue" in invoke("release").stderr
    assert "Warning" not in invoke("release", "--to", "Kueue").stderr


ORIGIN = {"kueue.x-k8s.io/multikueue-origin": "europe"}
MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def test_what_several_clusters_have_made_together_stays(api: Api, invoke: Invoke) -> None:
    """A resumed copy could run beside a Job in another cluster. A resumed Job of a manager is run by nobody."""
    api.put(
        JOBS,
        job("copy", suspend=True, **ORIGIN, **{QUEUE_NAME: "q"}),
        thing(
            "sent", metadata={"labels": {QUEUE_NAME: "q"}}, spec={"suspend": True, "managedBy": MULTIKUEUE}
        ),
        thing(
            "usual",
            metadata={"labels": {QUEUE_NAME: "q"}},
            spec={"suspend": True, "managedBy": "kubernetes.io/job-controller"},
        ),
    )
    api.put(
        f"{KUEUE}/workloads",
        thing("copy", finalizers=[IN_USE], metadata={"labels": ORIGIN}),
        thing("sent", status={"clusterName": "west"}),
    )
    result = invoke("release")
    assert result.exit_code == 0, result.output
    assert suspended(api) == {"mine", "copy", "sent"}
    assert set(api.of(f"{KUEUE}/workloads")) == {"copy"}
    assert api.of(f"{KUEUE}/workloads")["copy"]["metadata"]["finalizers"] == []
    sent, jobs, copies = result.stderr.splitlines()
    assert "1 Workload may run in worker clusters (west: 1)" in sent
    assert "1 Job of spec.managedBy kueue.x-k8s.io/multikueue" in jobs
    assert "1 Workload of managers in other clusters (origin europe: 1) stay" in copies
    assert "Warning" not in invoke("release", "--to", "Kueue").stderr
