"""Groups that other programs make, on a real control plane: all kinds at once, each evicted whole, by priority."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import pytest

from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.pages import shell
from tests.e2e.questions import DUMPS, Asking
from tests.e2e.support import Sandbox, condition, names, wait_for

CRDS: Final = "apiextensions.k8s.io/v1"
TRAINING: Final = "kubeflow.org/v1"
COSCHEDULING: Final = "scheduling.x-k8s.io/v1alpha1"
VOLCANO: Final = "scheduling.volcano.sh/v1beta1"
NATIVE: Final = "scheduling.k8s.io/v1beta1"
JOB_SET: Final = "jobset.x-k8s.io/v1alpha2"
REPLICAS: Final = "leaderworkerset.x-k8s.io/v1"
RAY: Final = "ray.io/v1"
GANG: Final = {"reprieve.dev/gang": "true"}
SIZE: Final = 2
"""Pods of each group, on a node each."""


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """Its scheduler places Kubernetes' own PodGroups itself. Nobody else's are served when reprieve starts.

    Owners make gangs, unless a namespace says something else. The process says so on its Lease.
    """
    gates, served = {"GenericWorkload": True}, {NATIVE: True}
    settings = {"groups": {"byOwner": "Gangs"}, "leaderElection": {"leaderElect": True}}
    options = Options(reprieve=True, feature_gates=gates, runtime_config=served, reprieve_settings=settings)
    return start_plane(options)


@pytest.fixture
def sandbox(plane: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]) -> Iterator[Sandbox]:
    made = sandboxes(plane)
    yield made
    made.remove()


@pytest.fixture(scope="module")
def served(plane: ControlPlane) -> None:
    """The kinds of other projects are served from now on: all of which reprieve may watch objects."""
    for kind in ("JAXJob", "MPIJob", "MXJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob"):
        install(plane.client, TRAINING, kind)
    install(plane.client, COSCHEDULING, "PodGroup")
    install(plane.client, VOLCANO, "PodGroup")
    install(plane.client, JOB_SET, "JobSet")
    install(plane.client, REPLICAS, "LeaderWorkerSet")
    install(plane.client, RAY, "RayCluster")


def install(client: Client, api_version: str, kind: str) -> None:
    """Make a CRD, whose objects may say anything, and wait until it is served."""
    (group, version), plural = api_version.split("/"), f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    versions = [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    meta = {"name": f"{plural}.{group}"}
    client.create({"apiVersion": CRDS, "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec})
    wait_for(lambda: is_served(client, f"/apis/{api_version}/{plural}"), what="the CRD is not served")


def create(sandbox: Sandbox, api_version: str, kind: str, name: str, spec: Json, **annotations: str) -> Json:
    meta = {"name": name, "annotations": {f"reprieve.dev/{key}": said for key, said in annotations.items()}}
    body = {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}
    path = f"/apis/{api_version}/namespaces/{sandbox.namespace}/{kind.lower()}s"
    return sandbox.client.request("POST", path, body)


def path_of_set(sandbox: Sandbox, name: str) -> str:
    return f"/apis/{JOB_SET}/namespaces/{sandbox.namespace}/jobsets/{name}"


def controlled_by(owner: Json) -> Json:
    """The reference of whatever this object controls."""
    known = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    return {**known, **{field: owner["metadata"][field] for field in ("name", "uid")}, "controller": True}


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
    def priority(self) -> int:
        """The next group's: higher than that of the group before it."""
        return 10 * (len(self.pods) + 1)

    def class_of_next(self) -> str:
        """The PriorityClass of the group that is made next."""
        return self._sandbox.priority(self.priority)

    def bare(self, name: str, **pod: Any) -> None:
        """Pods that say themselves which group they belong to."""
        places = [self._sandbox.node(f"{name}-{number}", cpu="1") for number in range(SIZE)]
        self.pods[name] = [
            self._sandbox.pod(f"{name}-{number}", priority=self.priority, node_name=place, **pod)
            for number, place in enumerate(places)
        ]
        self._sandbox.wait_running(*self.pods[name])

    def owned(self, name: str, owners: list[Json], labels: dict[str, str] | None = None) -> None:
        """Pods with these controllers, one after the other."""
        priority, client, running = self.priority, self._sandbox.client, []
        for number, owner in enumerate(owners):
            place = self._sandbox.node(f"{name}-{number}", cpu="1")
            body = self._sandbox.pod_body(
                f"{name}-{number}", priority=priority, node_name=place, labels=labels
            )
            body["metadata"]["ownerReferences"] = [controlled_by(owner)]
            running.append(client.create(body)["metadata"]["name"])
        self.pods[name] = running
        self._sandbox.wait_running(*running)

    def jobs(
        self,
        name: str,
        jobs: list[str],
        labels: list[dict[str, str]],
        annotations: dict[str, str],
        owners: list[Json],
    ) -> None:
        """Indexed Jobs of the Job controller, which creates SIZE pods in sum."""
        priority, namespace = self.priority, self._sandbox.namespace
        for number in range(SIZE):
            self._sandbox.node(f"{name}-{number}", cpu="1", labels={"kind": name})
        for job, its_labels in zip(jobs, labels, strict=True):
            pod = self._sandbox.pod_body(
                "template", priority=priority, restartPolicy="Never", nodeSelector={"kind": name}
            )
            meta = {"labels": {**its_labels, "group": name}}
            count = SIZE // len(jobs)
            spec = {
                "parallelism": count,
                "completions": count,
                "completionMode": "Indexed",
                "template": {"metadata": meta, "spec": pod["spec"]},
            }
            where: Json = {"name": job, "namespace": namespace, "annotations": annotations}
            where |= {"ownerReferences": [controlled_by(each) for each in owners]}
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


def all_kinds(sandbox: Sandbox) -> Kinds:
    """One group of each kind, of rising priority."""
    kinds = Kinds(sandbox)
    create(sandbox, COSCHEDULING, "PodGroup", "plugins", {"minMember": SIZE})
    kinds.bare("plugins", labels={"scheduling.x-k8s.io/pod-group": "plugins"})
    create(sandbox, VOLCANO, "PodGroup", "volcano", {"minMember": SIZE})
    kinds.bare("volcano", annotations={"scheduling.k8s.io/group-name": "volcano"})
    policy = {"schedulingPolicy": {"gang": {"minCount": SIZE}}, "disruptionMode": {"all": {}}}
    create(sandbox, NATIVE, "PodGroup", "native", policy | {"priorityClassName": kinds.class_of_next()})
    kinds.bare("native", schedulingGroup={"podGroupName": "native"})
    sandbox.group("ours", min_count=SIZE, priority=kinds.priority, mode="all")
    kinds.bare("ours", group="ours")
    kinds.owned("train", [create(sandbox, TRAINING, "PyTorchJob", "train", {})] * SIZE)
    replica = {"leaderworkerset.sigs.k8s.io/name": "llm", "leaderworkerset.sigs.k8s.io/group-index": "0"}
    kinds.owned("llm", [stateful_set(sandbox, "llm"), stateful_set(sandbox, "llm-0")], replica)
    sets = [
        {"jobset-name": "sim", "replicatedjob-name": name, "job-index": "0"} for name in ("driver", "workers")
    ]
    labels = [{f"jobset.sigs.k8s.io/{key}": value for key, value in each.items()} for each in sets]
    job_set = create(
        sandbox, JOB_SET, "JobSet", "sim", {"replicatedJobs": [{"name": "driver"}, {"name": "workers"}]}
    )
    kinds.jobs("sim", ["sim-driver-0", "sim-workers-0"], labels, {}, [job_set])
    kinds.jobs("ring", ["ring"], [{}], GANG, [])
    kinds.owned("ray", [create(sandbox, RAY, "RayCluster", "ray", {}, gang="true")] * SIZE)
    return kinds


@pytest.mark.usefixtures("served")
def test_each_kind_goes_whole_and_by_priority(sandbox: Sandbox) -> None:
    """Single pods and gangs come in turn. kube-scheduler alone would evict one pod of a group for a single pod."""
    sandbox.client.patch("v1", "Namespace", sandbox.namespace, VICTIMS)
    kinds = all_kinds(sandbox)
    gone: dict[str, int] = {}
    for number, (name, pods) in enumerate(kinds.pods.items()):
        if number % 2:
            heroes = sandbox.gang(f"hero-{number}", SIZE, priority=1000)
        else:
            heroes = [sandbox.pod(f"hero-{number}", priority=1000)]
        sandbox.wait_bound(*heroes)
        plan = sandbox.wait_plan(f"hero-{number}", "Bound")
        [victim] = plan["spec"]["victims"]
        assert (victim["kind"], bare_name(victim["name"])) == ("PodGroup", name)
        assert sorted(pod["name"] for pod in victim["pods"]) == pods
        gone |= dict.fromkeys(pods, 1)
        assert sandbox.history.evictions() == gone, "whole, once, and nobody else"
        if not number % 2:
            sandbox.pod(f"rest-{number}", priority=1000)  # takes the other node
            sandbox.wait_bound(f"rest-{number}")
    for name, pods in kinds.pods.items():
        assert evicted_for(sandbox, pods[-1]) == [f"hero-{list(kinds.pods).index(name)}"]


def bare_name(name: str) -> str:
    """The name of a group's object, from the group's name in a plan."""
    return name if ":" not in name else name.split(":")[1].removesuffix("-0")


def evicted_for(sandbox: Sandbox, pod: str) -> list[str]:
    """The preemptors that the command names."""
    assert sandbox.plane is not None
    result = shell(sandbox.plane, f"reprieve who-evicted {sandbox.namespace}/{pod} -o json")
    assert result.returncode == 0, result.stderr
    return [each["preemptor"]["name"] for each in json.loads(result.stdout)["evictions"]]


PLUGINS: Final = "podgroups.scheduling.x-k8s.io"
VICTIMS: Final = {"metadata": {"annotations": {"reprieve.dev/groups-by-owner": "Victims"}}}
"""What a namespace may say."""


def plugin_pod(sandbox: Sandbox, group: str, number: int) -> str:
    """A pod of a PodGroup of scheduler-plugins."""
    label = "scheduling.x-k8s.io/pod-group"
    return sandbox.pod(f"{group}-{number}", priority=100, labels={label: group})


def set_job(sandbox: Sandbox, job_set: str, number: int) -> str:
    """A Job of a JobSet. Returns the name of its pod."""
    job = f"{job_set}-w-{number}"
    labels = {"jobset-name": job_set, "replicatedjob-name": "w", "job-index": str(number)}
    named = {f"jobset.sigs.k8s.io/{key}": value for key, value in labels.items()}
    pod = sandbox.pod_body("template", priority=100, restartPolicy="Never")
    template = {"metadata": {"labels": named}, "spec": pod["spec"]}
    owner = sandbox.client.request("GET", path_of_set(sandbox, job_set))
    meta = {"name": job, "namespace": sandbox.namespace, "ownerReferences": [controlled_by(owner)]}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}
    sandbox.client.create(body)
    label = f"batch.kubernetes.io/job-name={job}"
    [made] = wait_for(
        lambda: sandbox.client.list("v1", "Pod", sandbox.namespace, labels=label), what=f"{job} has no pod"
    )
    return str(made["metadata"]["name"])


def wait_event(sandbox: Sandbox, reason: str, name: str) -> None:
    wait_for(lambda: sandbox.events(reason, name), what=lambda: sandbox.report())


def test_pods_that_contradict_are_named(sandbox: Sandbox) -> None:
    """One names groups of two kinds, and one has another priority than its group's other pod."""
    sandbox.node("n", cpu="3")
    label = {"scheduling.x-k8s.io/pod-group": "first"}
    sandbox.pod("both", labels=label, annotations={"scheduling.k8s.io/group-name": "second"})
    mixed = [
        sandbox.pod(f"mixed-{each}", priority=each, labels={"scheduling.x-k8s.io/pod-group": "mixed"})
        for each in (5, 9)
    ]
    sandbox.wait_bound("both", *mixed)
    wait_event(sandbox, "PodGroupAmbiguous", "both")
    wait_event(sandbox, "PodGroupPriorityDiffers", "mixed-5")
    [ambiguous] = sandbox.events("PodGroupAmbiguous", "both")
    assert "it belongs to podgroups.scheduling.x-k8s.io:first, and not to" in ambiguous["note"]
    [differs] = sandbox.events("PodGroupPriorityDiffers", "mixed-5")
    assert "mixed-9 has 9" in differs["note"]


@pytest.mark.usefixtures("served")
def test_commands_do_what_the_process_does(sandbox: Sandbox, plane: ControlPlane, tmp_path: Path) -> None:
    """Only the Lease tells them that the pods of a JobSet wait for one another."""
    node = sandbox.node("full", cpu="1")
    sandbox.wait_running(*sandbox.filler("low", node, 1))
    create(sandbox, JOB_SET, "JobSet", "half", {"replicatedJobs": [{"name": "w", "replicas": 2}]})
    pod, asking = set_job(sandbox, "half", 0), Asking(plane, tmp_path)
    wait_event(sandbox, "Gathering", "half")
    asks = f"podgroup {sandbox.namespace}/half"
    dumps = [*DUMPS, "kubectl get jobsets -A -o json"]
    files = asking.dump(*dumps)
    answer = asking.both(f"why {asks}", files)
    assert (answer["state"], answer["numbers"]["minCount"]) == ("Gathering", 2)
    told = asking.both(f"why pod {sandbox.namespace}/{pod}", files)
    assert [each["state"] for each in told["depends"]] == ["Gathering"]
    assert asking.both(f"why {asks} --groups-by-owner Victims", files)["state"] == "OfAnotherKind"
    sandbox.client.patch("v1", "Namespace", sandbox.namespace, VICTIMS)
    assert asking.both(f"why {asks}", asking.dump(*dumps))["state"] == "OfAnotherKind"
    findings = json.loads(asking.ask("doctor").stdout)["findings"]
    assert any("groups.byOwner Gangs" in each["message"] for each in findings)


@pytest.mark.usefixtures("served")
def test_gangs_of_other_kinds_preempt_while_their_crds_are_there(
    sandbox: Sandbox, plane: ControlPlane
) -> None:
    """reprieve runs since before the CRDs were installed, and goes on when one is removed.

    A cluster that removes the CRD of owners deletes their pods, too.
    """
    for name, more in (("ring", plugin_pod), ("sim", set_job)):
        for number in range(2):
            sandbox.node(f"{name}-{number}", cpu="1")
        victims = sandbox.pods(f"victim-{name}", 2, priority=10)
        sandbox.wait_bound(*victims)
        if name == "ring":
            create(sandbox, COSCHEDULING, "PodGroup", "ring", {"minMember": 2})
        else:
            create(sandbox, JOB_SET, "JobSet", "sim", {"replicatedJobs": [{"name": "w", "replicas": 2}]})
        before = sandbox.history.evictions()
        pods = [more(sandbox, name, 0)]
        wait_event(sandbox, "Gathering", name)
        assert sandbox.history.evictions() == before
        pods.append(more(sandbox, name, 1))
        sandbox.wait_bound(*pods)
        source, version = (PLUGINS, COSCHEDULING) if name == "ring" else ("JobSet.jobset.x-k8s.io", JOB_SET)
        plan = sandbox.wait_plan(f"{source}:{name}", "Bound")
        assert plan["spec"]["preemptor"]["apiVersion"] == version
        assert sandbox.history.evictions() == before | dict.fromkeys(victims, 1)
        wait_event(sandbox, "Bound", name)

    create(sandbox, COSCHEDULING, "PodGroup", "alone", {"minMember": 2})
    sandbox.node("more", cpu="1")
    waiting = plugin_pod(sandbox, "alone", 0)
    wait_event(sandbox, "Gathering", "alone")
    assert waiting not in sandbox.bound()
    plane.client.delete(CRDS, "CustomResourceDefinition", PLUGINS)
    sandbox.wait_bound(waiting)


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
