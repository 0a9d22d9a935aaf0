"""`reprieve why`, `what-if` and `diff` on a real API server: live and from a dump alike, and without our CRDs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from answers.names import ALL
from answers.waiting import waiting
from hack.controlplane import objects
from hack.controlplane.client import Json
from hack.controlplane.manifests import MANIFESTS, apply_cluster_objects
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.questions import WAITS, Asking
from tests.e2e.support import Sandbox, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.connected import connected
from tests.kit.waiting import beside, until
from web.sources.live import Cluster

BARE: Final = (
    "nodes,pods,namespaces,poddisruptionbudgets,priorityclasses,jobs,replicasets,statefulsets,events"
)
RBAC: Final = "rbac.authorization.k8s.io/v1"
KUEUE: Final = "kueue.x-k8s.io/v1beta2"
NOW: Final = "2099-01-01T00:00:00Z"
"""A Workload that is submitted waits since then."""


@pytest.fixture
def asking(control_plane: ControlPlane, tmp_path: Path) -> Asking:
    return Asking(control_plane, tmp_path)


@pytest.fixture
def sandbox(control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox]) -> Sandbox:
    return sandboxes(control_plane)


def test_members_that_a_quota_refuses(sandbox: Sandbox, asking: Asking) -> None:
    """The Job may create one pod. Its event says why there are no more."""
    client, space = sandbox.client, sandbox.namespace
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small", "namespace": space}}
    client.create({**quota, "spec": {"hard": {"pods": "1"}}})
    # What its controller would count.
    counted = {"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}}
    client.patch("v1", "ResourceQuota", "small", counted, space, "status")
    sandbox.group("train", min_count=2)
    sandbox.job("train", group="train", parallelism=2, completions=2)
    wait_for(
        lambda: (
            [
                each
                for each in client.list("events.k8s.io/v1", "Event", space)
                if each["reason"] == "FailedCreate"
            ]
            and sandbox.list_pods()
        ),
        what="no event of the Job",
    )
    files = asking.dump()
    answer = asking.both(f"why podgroup {space}/train", files)
    assert answer["state"] == "Gathering"
    assert f"Job {space}/train has 1 of 2 pods: " in answer["missing"][0]
    assert "exceeded quota: small" in answer["missing"][0]
    (pod,) = (each["metadata"]["name"] for each in sandbox.list_pods())
    member = asking.both(f"why pod {space}/{pod}", files)
    assert [each["name"] for each in member["depends"]] == [f"{space}/train"]
    job = asking.both(f"why job train -n {space}", files)
    assert (job["state"], "exceeded quota" in job["missing"][0]) == ("PodsWait", True)


def test_a_pod_whose_scheduler_does_not_help(sandbox: Sandbox, asking: Asking) -> None:
    """Nothing has to be configured: the plan names the victims, and the pod of a running Job does not wait."""
    node = sandbox.node("full", cpu="2")
    low = sandbox.filler("low", node, 2)
    sandbox.pod("web", priority=100, cpu="2", schedulerName="nobody")
    files, space = asking.dump(), sandbox.namespace
    answer = asking.both(f"why pod {space}/web", files)
    assert (answer["state"], answer["decision"]["outcome"]) == ("Unanswered", "Preempts")
    assert all(any(name in each for each in answer["wouldHelp"]) for name in low)
    assert asking.both(f"why pod {space}/{low[0]}", files, code=0)["state"] == "Bound"
    assert asking.ask(f"why pod {space}/gone").returncode == 2


def test_what_a_deployment_and_a_gang_would_do(sandbox: Sandbox, asking: Asking) -> None:
    space = sandbox.namespace
    node = sandbox.node("full", cpu="2")
    sandbox.filler("low", node, 2)
    high = sandbox.priority(1000)
    pod = sandbox.pod_body("template", cpu="1")
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": space},
        "spec": {"replicas": 2, "template": {"metadata": pod["metadata"], "spec": pod["spec"]}},
    }
    group = objects.pod_group("gang", space, min_count=2, priority_class=high)
    member = sandbox.pod_body("gang-0", group="gang", cpu="1", priority=1000)
    second = {**member, "metadata": {**member["metadata"], "name": "gang-1"}}
    path, files = asking.write("submitted.yaml", deployment, group, member, second), asking.dump()
    web, gang = asking.both(f"what-if {path} --now {NOW}", files)["steps"]
    assert (web["outcome"], web["running"]) == ("Waits", 0)
    assert (gang["outcome"], len(gang["evicted"])) == ("RunsAfterEvictions", 2)
    assert {each["sentence"] for each in gang["consequences"]} == {
        "It is gone for good: it is not created again."
    }


def test_a_workload_in_a_queue(sandbox: Sandbox, asking: Asking) -> None:
    """Nobody manages the quota here: the queues are objects, and the engine is asked."""
    client, space = sandbox.client, sandbox.namespace
    queue = space
    bodies: list[Json] = [
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": queue}, "spec": {}},
        {
            "apiVersion": KUEUE,
            "kind": "ClusterQueue",
            "metadata": {"name": queue},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu"],
                        "flavors": [{"name": queue, "resources": [{"name": "cpu", "nominalQuota": "1"}]}],
                    }
                ],
            },
        },
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "main", "namespace": space},
            "spec": {"clusterQueue": queue},
        },
    ]
    template = {"spec": sandbox.pod_body("template", cpu="2")["spec"]}
    workload: Json = {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": "large", "namespace": space},
        "spec": {"queueName": "main", "podSets": [{"name": "main", "count": 1, "template": template}]},
    }
    for body in (*bodies, workload):
        client.create(body)
    try:
        files = asking.dump()
        answer = asking.both(f"why workload large -n {space}", files)
        assert (answer["state"], answer["numbers"]["position"]) == ("ExceedsMaxQuota", 1)
        small: Json = json.loads(json.dumps(workload).replace('"large"', '"small"'))
        path = asking.write("small.yaml", small)
        (step,) = asking.both(f"what-if {path} --now {NOW}", files)["steps"]
        assert (step["outcome"], step["quota"]["state"]) == ("WaitsForQuota", "ExceedsMaxQuota")
        richer: Json = json.loads(json.dumps(bodies[1]).replace('"nominalQuota": "1"', '"nominalQuota": "4"'))
        path = asking.write("richer.yaml", richer)
        (fate,) = asking.both(f"diff {path} --now {NOW}", files)["fates"]
        assert (fate["names"], fate["now"]["state"], fate["then"]["state"]) == (
            [f"{space}/large"],
            "Waits",
            "Fits",
        )
    finally:
        for body in (workload, *reversed(bodies)):
            meta = body["metadata"]
            client.delete(KUEUE, body["kind"], meta["name"], meta.get("namespace"))


@pytest.fixture
def only_pods(sandbox: Sandbox) -> Iterator[str]:
    """The options of somebody who may list pods, and nothing else."""
    user = f"{sandbox.namespace}-reader"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user}
    about = {"name": user}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    subjects = [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]
    for body in (
        {"kind": "ClusterRole", "rules": rules},
        {"kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects},
    ):
        sandbox.client.create({"apiVersion": RBAC, "metadata": about, **body})
    yield f"--as {user} --as-group system:authenticated"
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        sandbox.client.delete(RBAC, kind, user)


def test_rights_that_are_missing_are_named(sandbox: Sandbox, asking: Asking, only_pods: str) -> None:
    node = asking.write("node.yaml", objects.node("n"))
    queue = asking.write("queue.yaml", {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": "c"}})
    sandbox.pod("web", schedulerName="nobody")
    space = sandbox.namespace
    answer = wait_for(
        lambda: found if (found := asking.ask(f"why pod {space}/web", only_pods)).returncode != 1 else None
    )
    assert answer.returncode == WAITS
    assert "The search was not asked: a right is missing: " in json.loads(answer.stdout)["sentence"]
    assert 'cannot list resource "nodes"' in answer.stderr
    assert 'leases.coordination.k8s.io "reprieve" is forbidden' in answer.stderr
    unasked = asking.ask(f"why pod {space}/web --groups-by-owner Victims", only_pods)
    assert (unasked.stdout, "leases" in unasked.stderr) == (answer.stdout, False)
    whys = [f"why {kind} {space}/x" for kind in ("podgroup", "job", "workload")]
    for question in (*whys, f"diff {node}", f"diff {queue}"):
        refused = asking.ask(question, only_pods)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "Error: a right is missing: " in refused.stderr
    nobody = asking.ask(f"why pod {space}/web", "--as nobody-knows")
    assert (nobody.returncode, 'cannot list resource "pods"' in nobody.stderr) == (1, True)


# ---- without our CRDs


@pytest.fixture(scope="module")
def bare(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """An API server that knows neither our kinds nor Kueue's."""
    return start_plane(Options(api_only=True, manifests=()))


def test_a_cluster_that_has_never_heard_of_us(bare: ControlPlane, tmp_path: Path) -> None:
    client, asking = bare.client, Asking(bare, tmp_path)
    # What its controller would create: without it no pod is admitted.
    client.create(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": "default"},
        }
    )
    client.create(objects.node("n"))
    client.patch("v1", "Node", "n", {"status": {"allocatable": {"cpu": "1", "pods": "9"}}}, None, "status")
    low = objects.pod("low", "default", cpu="1", node_name="n")
    client.create(low)
    client.create(objects.pod("web", "default", cpu="1"))
    files = asking.dump(f"kubectl get {BARE} -A -o json")
    answer = asking.both("why pod default/web", files)
    assert answer["decision"]["outcome"] == "Unschedulable"
    path = asking.write("more.yaml", objects.pod("more", "default", cpu="1"))
    assert asking.both(f"what-if {path} --now {NOW}", files)["steps"][0]["outcome"] == "Waits"
    larger = {**objects.node("n"), "status": {"allocatable": {"cpu": "2", "pods": "9"}}}
    path = asking.write("larger.yaml", larger)
    (fate,) = asking.both(f"diff {path}", files)["fates"]
    assert (fate["kind"], fate["names"], fate["then"]["state"]) == ("Pod", ["default/web"], "Fits")
    for question in ("why podgroup default/x", "why workload default/x", "why job default/x"):
        assert asking.ask(question).returncode == 2


async def test_the_page_follows_a_cluster_that_hears_of_us_later(bare: ControlPlane) -> None:
    """Nothing waits for kinds that are not served. When they are, they appear."""
    async with connected(bare.kubeconfig) as client:
        source = Cluster(client)
        async with beside(source.run()):
            await asyncio.wait_for(source.wait_synced(), PATIENCE_SECONDS)
            assert source.picture().refused == {}
            await asyncio.to_thread(apply_cluster_objects, bare.client, our_kinds())
            await asyncio.to_thread(bare.client.create, objects.pod_group("late", "default", min_count=2))
            await until(lambda: _groups(source) == {"late"})
        assert source.trouble == ""


def our_kinds() -> list[Json]:
    """The CRDs of reprieve."""
    return [
        body
        for path in sorted((MANIFESTS / "crds").glob("*.yaml"))
        for body in yaml.safe_load_all(path.read_text())
    ]


def _groups(source: Cluster) -> set[str]:
    seen = source.picture()
    return {row.name for row in waiting(seen.picture, seen.details, ALL).groups}
