"""Groups that other programs make, on a real control plane: all kinds at once, each evicted whole, by priority."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import Any, Final

import pytest

from hack.controlplane.client import Client, Json
from hack.controlplane.components import PAGE_USER
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.versions import knows
from tests.e2e.audit import Right, findings_of, granted
from tests.e2e.other_kinds import (
    COSCHEDULING,
    CRDS,
    JOB_SET,
    KINDS_OF_OTHERS,
    NATIVE,
    REPLICAS,
    SIZE,
    all_kinds,
    controlled_by,
    create,
    install,
    object_of,
    replica,
    replica_pod,
    stateful_set,
)
from tests.e2e.pages import shell
from tests.e2e.questions import DUMPS, Asking
from tests.e2e.served_page import permitted
from tests.e2e.support import Sandbox, condition, names, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.connected import connected
from tests.kit.versions import THERE, needs
from tests.kit.waiting import beside
from web.sources.live import Cluster


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """Its scheduler places Kubernetes' own PodGroups itself, if its version has them. Nobody else's are served when
    reprieve starts.

    Owners make gangs, unless a namespace says something else. The process says so on its Lease.
    """
    gates, served = ({"GenericWorkload": True}, {NATIVE: True}) if knows(THERE, NATIVE) else ({}, {})
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
    """The kinds of other projects are served from now on: all whose objects reprieve may watch."""
    for api_version, kind in KINDS_OF_OTHERS:
        install(plane.client, api_version, kind)


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


@needs(NATIVE, "it has no groups that reprieve reads")
def test_a_pod_takes_the_node_of_the_younger_pod_of_a_native_group(sandbox: Sandbox) -> None:
    """kube-scheduler offers its node with all victims, and the older one, which comes first, is elsewhere."""
    first = sandbox.node("n-0", cpu="1")
    policy = {"schedulingPolicy": {"gang": {"minCount": 1}}, "disruptionMode": {"all": {}}}
    create(sandbox, NATIVE, "PodGroup", "native", policy)
    group: Any = {"schedulingGroup": {"podGroupName": "native"}}
    older = sandbox.pod("older", nodeSelector={"kubernetes.io/hostname": first}, **group)
    sandbox.wait_running(older)
    second = sandbox.node("n-1", cpu="1")
    time.sleep(1.1)  # start times have seconds
    younger = sandbox.pod("younger", nodeSelector={"kubernetes.io/hostname": second}, **group)
    sandbox.wait_running(younger)
    hero = sandbox.pod("hero", priority=1000, nodeSelector={"kubernetes.io/hostname": second})
    sandbox.wait_bound(hero)
    assert sandbox.history.evictions() == {older: 1, younger: 1}
    [victim] = sandbox.wait_plan("hero", "Bound")["spec"]["victims"]
    assert sorted(pod["name"] for pod in victim["pods"]) == [older, younger]


@pytest.mark.usefixtures("served")
def test_pods_that_forge_the_labels_of_a_replica_go_alone(sandbox: Sandbox) -> None:
    """Whoever may create StatefulSets can have pods with any labels. Their chain does not lead to the owner."""
    true = replica(sandbox, 10)
    forged = stateful_set(sandbox, "llm-1", None)
    for number in range(SIZE):
        replica_pod(sandbox, f"llm-1-{number}", forged, f"forged-{number}", 10, index="1")
    sandbox.wait_running("llm-1-0", "llm-1-1")
    for place, gone in (("forged-0", ["llm-1-0"]), ("llm-1", true)):
        before = sandbox.history.evictions()
        sandbox.pod(f"hero-{place}", priority=1000, nodeSelector={"place": place})
        sandbox.wait_bound(f"hero-{place}")
        assert sandbox.history.evictions() == before | dict.fromkeys(gone, 1)
    [victim] = sandbox.wait_plan("hero-llm-1", "Bound")["spec"]["victims"]
    uid = object_of(sandbox, REPLICAS, "LeaderWorkerSet", "llm")["metadata"]["uid"]
    assert (victim["kind"], victim["name"]) == (
        "PodGroup",
        f"LeaderWorkerSet.leaderworkerset.x-k8s.io:llm-0:{uid}",
    )


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
    owner = object_of(sandbox, JOB_SET, "JobSet", job_set)
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
    sandbox.filler("high", node, 1, priority=1000)  # or the pod would get a node once it is no member
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


@needs(NATIVE, "it has no groups that the page may list")
@pytest.mark.usefixtures("served")
async def test_the_page_needs_each_of_its_rights_and_no_other_one(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Here all kinds are served that it may watch."""
    rights = {each for each in granted() if each.user == PAGE_USER}
    with permitted(plane, tmp_path) as kubeconfig:
        async with connected(kubeconfig) as client:
            source = Cluster(client)
            async with beside(source.run()):
                await asyncio.wait_for(source.wait_synced(), PATIENCE_SECONDS)
                assert (source.picture().refused, source.trouble) == ({}, "")
                await asyncio.to_thread(wait_for, lambda: rights <= used_on(plane))
    assert {each for each in used_on(plane) if each.user == PAGE_USER} == rights


def used_on(plane: ControlPlane) -> Set[Right]:
    return findings_of(plane.audit_log).used.keys()


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
        of_set = name == "sim"
        uid = ":" + object_of(sandbox, JOB_SET, "JobSet", name)["metadata"]["uid"] if of_set else ""
        source, version = ("JobSet.jobset.x-k8s.io", JOB_SET) if of_set else (PLUGINS, COSCHEDULING)
        plan = sandbox.wait_plan(f"{source}:{name}{uid}", "Bound")
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
