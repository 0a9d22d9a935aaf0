"""Groups that other programs make, on a real control plane: all kinds at once, each evicted whole, by priority."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

import pytest

from hack.controlplane.client import ApiError, Client, Json
from tests.e2e.pages import shell
from tests.e2e.support import Sandbox, condition, names, wait_for

CRDS: Final = "apiextensions.k8s.io/v1"
TRAINING: Final = "/apis/kubeflow.org/v1"
SIZE: Final = 2
"""Pods of each group, on a node each."""


@pytest.fixture
def training_jobs(sandbox: Sandbox) -> Iterator[str]:
    """PyTorchJobs are served; reprieve has been running before that. Returns their path in the sandbox."""
    name, schema = (
        "pytorchjobs.kubeflow.org",
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    )
    names = {
        "plural": "pytorchjobs",
        "singular": "pytorchjob",
        "kind": "PyTorchJob",
        "listKind": "PyTorchJobList",
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "kubeflow.org", "scope": "Namespaced", "names": names, "versions": [version]}
    sandbox.client.create(
        {"apiVersion": CRDS, "kind": "CustomResourceDefinition", "metadata": {"name": name}, "spec": spec}
    )
    path = f"{TRAINING}/namespaces/{sandbox.namespace}/pytorchjobs"
    wait_for(lambda: is_served(sandbox.client, path), what="the CRD is not served")
    yield path
    sandbox.client.delete(CRDS, "CustomResourceDefinition", name)


def is_served(client: Client, path: str) -> bool:
    try:
        client.request("GET", path)
    except ApiError as error:
        if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS):  # not yet
            raise
        return False
    return True


class Kinds:
    """Makes groups of SIZE pods. Each has nodes of its own, and its pods run when a method returns."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.pods: dict[str, list[str]] = {}
        """Names of pods by group, in the order in which the groups were made."""

    @property
    def _priority(self) -> int:
        """The next group's: higher than that of the group before it."""
        return 10 * (len(self.pods) + 1)

    def bare(self, name: str, **pod: Any) -> None:
        """Pods that say themselves which group they belong to."""
        places = [self._sandbox.node(f"{name}-{number}", cpu="1") for number in range(SIZE)]
        self.pods[name] = [
            self._sandbox.pod(f"{name}-{number}", priority=self._priority, node_name=place, **pod)
            for number, place in enumerate(places)
        ]
        self._sandbox.wait_running(*self.pods[name])

    def owned(self, name: str, owners: list[Json], labels: dict[str, str] | None = None) -> None:
        """Pods with these controllers, one after the other."""
        priority, client, running = self._priority, self._sandbox.client, []
        for number, owner in enumerate(owners):
            place = self._sandbox.node(f"{name}-{number}", cpu="1")
            body = self._sandbox.pod_body(
                f"{name}-{number}", priority=priority, node_name=place, labels=labels
            )
            known = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
            meta = {field: owner["metadata"][field] for field in ("name", "uid")}
            body["metadata"]["ownerReferences"] = [{**known, **meta, "controller": True}]
            running.append(client.create(body)["metadata"]["name"])
        self.pods[name] = running
        self._sandbox.wait_running(*running)

    def jobs(
        self, name: str, jobs: list[str], labels: list[dict[str, str]], annotations: dict[str, str]
    ) -> None:
        """Jobs of the Job controller, which creates SIZE pods in sum."""
        priority, namespace = self._priority, self._sandbox.namespace
        for number in range(SIZE):
            self._sandbox.node(f"{name}-{number}", cpu="1", labels={"kind": name})
        for job, its_labels in zip(jobs, labels, strict=True):
            pod = self._sandbox.pod_body(
                "template", priority=priority, restartPolicy="Never", nodeSelector={"kind": name}
            )
            meta = {"labels": {**its_labels, "group": name}, "annotations": annotations}
            count = SIZE // len(jobs)
            spec = {
                "parallelism": count,
                "completions": count,
                "template": {"metadata": meta, "spec": pod["spec"]},
            }
            where = {"name": job, "namespace": namespace}
            self._sandbox.client.create(
                {"apiVersion": "batch/v1", "kind": "Job", "metadata": where, "spec": spec}
            )
        self.pods[name] = wait_for(lambda: self._created(name), what=f"the pods of {name} do not exist")
        self._sandbox.wait_running(*self.pods[name])

    def _created(self, name: str) -> list[str] | None:
        found = self._sandbox.client.list("v1", "Pod", self._sandbox.namespace, labels=f"group={name}")
        return sorted(pod["metadata"]["name"] for pod in found) if len(found) == SIZE else None


def stateful_set(sandbox: Sandbox, name: str) -> Json:
    """One that controls nothing: its controller does not run here."""
    pod = sandbox.pod_body("template")
    template = {"metadata": {"labels": {"app": name}}, "spec": pod["spec"]}
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": {"app": name}},
        "template": template,
        "serviceName": name,
    }
    where = {"name": name, "namespace": sandbox.namespace}
    body = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": where, "spec": spec}
    return sandbox.client.request("POST", f"/apis/apps/v1/namespaces/{sandbox.namespace}/statefulsets", body)


def all_kinds(sandbox: Sandbox, training_jobs: str) -> Kinds:
    """One group of each kind, of rising priority."""
    kinds = Kinds(sandbox)
    kinds.bare("plugins", labels={"scheduling.x-k8s.io/pod-group": "plugins"})
    kinds.bare("volcano", annotations={"scheduling.k8s.io/group-name": "volcano"})
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "train"}, "spec": {}}
    kinds.owned("train", [sandbox.client.request("POST", training_jobs, job)] * SIZE)
    replica = {"leaderworkerset.sigs.k8s.io/name": "llm", "leaderworkerset.sigs.k8s.io/group-index": "0"}
    kinds.owned("llm", [stateful_set(sandbox, "llm"), stateful_set(sandbox, "llm-0")], replica)
    sets = [
        {"jobset-name": "sim", "replicatedjob-name": name, "job-index": "0"} for name in ("driver", "workers")
    ]
    labels = [{f"jobset.sigs.k8s.io/{key}": value for key, value in each.items()} for each in sets]
    kinds.jobs("sim", ["sim-driver-0", "sim-workers-0"], labels, {})
    kinds.jobs("ring", ["ring"], [{}], {"reprieve.dev/gang": "true"})
    return kinds


def test_each_kind_goes_whole_and_by_priority(sandbox: Sandbox, training_jobs: str) -> None:
    """Single pods and gangs come in turn. kube-scheduler alone would evict one pod of a group for a single pod."""
    kinds = all_kinds(sandbox, training_jobs)
    gone: dict[str, int] = {}
    for number, (name, pods) in enumerate(kinds.pods.items()):
        if number % 2:
            heroes = sandbox.gang(f"hero-{number}", SIZE, priority=1000)
        else:
            heroes = [sandbox.pod(f"hero-{number}", priority=1000)]
        sandbox.wait_bound(*heroes)
        plan = sandbox.wait_plan(f"hero-{number}", "Bound")
        [victim] = plan["spec"]["victims"]
        assert (victim["kind"], victim["name"].split(":")[1].removesuffix("-0")) == ("PodGroup", name)
        assert sorted(pod["name"] for pod in victim["pods"]) == pods
        gone |= dict.fromkeys(pods, 1)
        assert sandbox.history.evictions() == gone, "whole, once, and nobody else"
        if not number % 2:
            sandbox.pod(f"rest-{number}", priority=1000)  # takes the other node
            sandbox.wait_bound(f"rest-{number}")
    for name, pods in kinds.pods.items():
        assert evicted_for(sandbox, pods[-1]) == [f"hero-{list(kinds.pods).index(name)}"]


def evicted_for(sandbox: Sandbox, pod: str) -> list[str]:
    """The preemptors that the command names."""
    assert sandbox.plane is not None
    result = shell(sandbox.plane, f"reprieve who-evicted {sandbox.namespace}/{pod} -o json")
    assert result.returncode == 0, result.stderr
    return [each["preemptor"]["name"] for each in json.loads(result.stdout)["evictions"]]


IGNORING: Final = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def job_of_seven(sandbox: Sandbox, name: str, **spec: Any) -> None:
    """A Job on a node of its own that says that it is a gang. It has one pod more than its backoffLimit by default."""
    sandbox.node(name, cpu="7", labels={"job": name})
    pod = sandbox.pod_body("template", priority=10, restartPolicy="Never", nodeSelector={"job": name})
    meta = {"labels": {"app": name}, "annotations": {"reprieve.dev/gang": "true"}}
    spec |= {"parallelism": 7, "completions": 7, "template": {"metadata": meta, "spec": pod["spec"]}}
    where = {"name": name, "namespace": sandbox.namespace}
    sandbox.client.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": where, "spec": spec})
    wait_for(lambda: len(pods_of(sandbox, name, "Running")) == 7, what=lambda: sandbox.report())


def pods_of(sandbox: Sandbox, job: str, *phases: str) -> set[str]:
    found = sandbox.client.list("v1", "Pod", sandbox.namespace, labels=f"app={job}")
    return {pod["metadata"]["uid"] for pod in found if pod["status"]["phase"] in phases}


def end_evicted(sandbox: Sandbox, job: str) -> None:
    """Do what a kubelet does when a pod is deleted, and KWOK does not: its containers end, and its phase says so.

    The Job controller's finalizer holds a pod until then, if the Job has a podFailurePolicy.
    """
    waiting = set(names(sandbox.client.list("v1", "Pod", sandbox.namespace, labels=f"app={job}")))

    def ended() -> bool:
        found = sandbox.client.list("v1", "Pod", sandbox.namespace, labels=f"app={job}")
        there = {pod["metadata"]["name"]: pod for pod in found if pod["metadata"]["name"] in waiting}
        waiting.intersection_update(there)
        for name, pod in there.items():
            if "deletionTimestamp" in pod["metadata"]:
                sandbox.end_pod(name, "Failed")
                waiting.discard(name)
        return not waiting

    wait_for(ended, what=lambda: f"not evicted: {sorted(waiting)}")


def failure_of(sandbox: Sandbox, job: str) -> Json | None:
    return condition(sandbox.client.get("batch/v1", "Job", job, sandbox.namespace), "Failed")


def test_a_job_fails_for_good_unless_its_policy_ignores_evictions(sandbox: Sandbox) -> None:
    """Kubernetes counts every evicted pod, and gives up a Job of seven pods with its default limit of six."""
    job_of_seven(sandbox, "counting")
    job_of_seven(sandbox, "ignoring", podFailurePolicy=IGNORING)
    for name in ("counting", "ignoring"):
        before = pods_of(sandbox, name, "Running")
        sandbox.pod(f"hero-{name}", priority=1000, nodeSelector={"job": name})
        if name == "ignoring":
            end_evicted(sandbox, name)
        sandbox.wait_bound(f"hero-{name}")
        [victim] = sandbox.wait_plan(f"hero-{name}", "Bound")["spec"]["victims"]
        assert {pod["uid"] for pod in victim["pods"]} == before
    failed = wait_for(lambda: failure_of(sandbox, "counting"), what=lambda: sandbox.report())
    assert failed["reason"] == "BackoffLimitExceeded"
    wait_for(lambda: not pods_of(sandbox, "ignoring", "Running", "Failed"), what=lambda: sandbox.report())
    job = sandbox.client.get("batch/v1", "Job", "ignoring", sandbox.namespace)
    assert (failure_of(sandbox, "ignoring"), job["status"].get("failed", 0)) == (None, 0)
