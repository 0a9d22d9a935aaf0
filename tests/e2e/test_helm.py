"""The life of a release: installed, upgraded, rolled back, removed, taken over from kustomize and given back to it.

People keep what they have made, and nothing stays that holds a pod.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from api.groups import API_VERSION, SCHEDULING_GATE
from api.integration import QUEUE_NAME_LABEL
from api.kueue import RESOURCE_IN_USE
from api.meta import ObjectMeta
from api.plans import PreemptionPlan, PreemptionPlanSpec, Preemptor
from api.published import HOLDS
from cli.serve.definitions import PATH
from controllers.gangs.lifecycle.stored_plan import FINALIZER
from hack.controlplane.client import Json, path_of
from hack.controlplane.manifests import WEBHOOK_KINDS, wait_served
from hack.controlplane.objects import node, pod_group
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.releases import (
    CRDS,
    MAIN,
    NAMESPACE,
    ROOT,
    Releases,
    account_file,
    done,
    environment_of,
    installed,
    ours,
    pod_of_the_hook,
    shell,
    succeed,
    uids_of,
)
from tests.e2e.support import Sandbox, SandboxFactory, wait_for
from tests.e2e.switches import ENFORCES, OBSERVES, configure, lease, traces, wait_mode, wait_nothing_held
from tests.kit.manifests import KUEUE, kueue
from tests.kit.often import SELDOM

CRD: Final = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
CALLED: Final[Json] = {"scheduler": {"entries": "Cluster"}}
ACTING: Final[Json] = {"mode": "Enforce", **CALLED}
NOWHERE: Final[Json] = {
    **ACTING,
    "placement": {"nodeSelector": {"there-is": "none"}},
    "configuration": {"planning": {"gates": "UntilPlanned"}},
}
"""Its pods never become ready. It has another Configuration."""
MIDDLE: Final = "evict.between=60s"
"""After the first pod of a unit, longer than any test."""
LEFT_BY_KUSTOMIZE: Final = "app.kubernetes.io/part-of=reprieve,app.kubernetes.io/managed-by!=Helm"
"""The labels of ConfigMaps whose names have the hashes of kustomize."""
GROUP: Final = pod_group("training", min_count=2)
PAGE: Final = (ROOT / "docs" / "install.md").read_text()
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A cluster whose scheduler calls reprieve, and in which only the CRDs are installed, by their chart.

    Two processes stand for the pods of reprieve: one enforces, the other one observes. None runs yet.
    """
    made = start_plane(Options(reprieve=True, replicas=2, start_reprieve=False, manifests=()))
    made.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    made.client.create(node("system", cpu="16"))
    Releases(made).install(CRDS)
    wait_served(made.client, made.client.list(*CRD))
    return made


@pytest.fixture
def helm(plane: ControlPlane) -> Iterator[Releases]:
    """No release of the main chart is there, before and after."""
    releases = Releases(plane)
    yield releases
    for process in plane.replicas:
        if process.running:
            process.stop(60)
    releases.remove(MAIN)


def crds(plane: ControlPlane) -> dict[str, Json]:
    return {each["metadata"]["name"]: each["spec"] for each in plane.client.list(*CRD)}


def plan_of(name: str) -> Json:
    """A plan as it is stored while it is carried out."""
    preemptor = Preemptor("PodGroup", API_VERSION, "default", "training", "uid", 100)
    body: Json = msgspec.to_builtins(
        PreemptionPlan(
            metadata=ObjectMeta(name=name, namespace="default", finalizers=[FINALIZER]),
            spec=PreemptionPlanSpec(preemptor=preemptor, outcome="Fits", reason="it fits"),
        )
    )
    return body


@pytest.fixture
def stored(plane: ControlPlane) -> Iterator[list[Json]]:
    """A PodGroup and a plan of people."""
    made = [plane.client.create(body) for body in (GROUP, plan_of("training-1"))]
    yield made
    for body in made:
        name = body["metadata"]["name"]
        plane.client.patch(API_VERSION, body["kind"], name, {"metadata": {"finalizers": None}}, "default")
        plane.client.delete(API_VERSION, body["kind"], name, "default")


def unchanged(plane: ControlPlane, bodies: list[Json]) -> bool:
    """Whether they are the same objects, with all of their fields."""
    found = [
        plane.client.find(body["apiVersion"], body["kind"], body["metadata"]["name"], "default")
        for body in bodies
    ]
    return [(each or {}).get("spec") for each in found] == [body["spec"] for body in bodies] and [
        (each or {})["metadata"]["uid"] for each in found
    ] == [body["metadata"]["uid"] for body in bodies]


def test_the_life_of_a_release(plane: ControlPlane, helm: Releases, stored: list[Json]) -> None:
    kinds = crds(plane)
    notes = helm.install(MAIN)
    assert "reprieve observes" in notes
    assert "Nobody is evicted" in notes
    assert "ClusterRole reprieve-enforce" not in ours(plane)
    first = installed(plane)

    notes = helm.upgrade(MAIN, "--wait", "--timeout", "60s", values=ACTING)
    assert "reprieve enforces" in notes
    second = installed(plane)
    assert "ClusterRole reprieve-enforce" in second
    assert "MutatingWebhookConfiguration reprieve" in second

    helm.upgrade(MAIN, "--wait", "--timeout", "5s", values=NOWHERE, fails=True)
    assert helm.history(MAIN) == ["superseded", "deployed", "failed"]
    helm.run("rollback", MAIN, "2", "--wait", "--timeout", "60s")
    assert installed(plane) == second
    helm.upgrade(MAIN, "--atomic", "--timeout", "5s", values=NOWHERE, fails=True)
    assert installed(plane) == second

    helm.run("rollback", MAIN, "1")
    assert installed(plane) == first
    assert crds(plane) == kinds
    assert unchanged(plane, stored)

    helm.run("uninstall", MAIN)
    assert ours(plane) == {}
    assert crds(plane) == kinds
    assert unchanged(plane, stored)
    helm.install(MAIN)
    assert installed(plane) == first


def test_the_crds_outlive_their_release(plane: ControlPlane, helm: Releases, stored: list[Json]) -> None:
    """Kueue's kinds come and stay, too. Who installs the chart again, goes on with what is there."""
    before = crds(plane)
    helm.upgrade(CRDS, "--set", "kueue=true")
    more = crds(plane)
    assert len(more) == len(before) + 9
    helm.run("rollback", CRDS, "1")
    assert crds(plane) == more
    helm.run("uninstall", CRDS)
    assert crds(plane) == more
    helm.install(CRDS, "--set", "kueue=true")
    assert crds(plane) == more
    assert unchanged(plane, stored)


@SELDOM
def test_an_installation_of_kustomize_is_taken_over_and_given_back(
    plane: ControlPlane, helm: Releases, stored: list[Json]
) -> None:
    apply = "kubectl apply --server-side --force-conflicts -k manifests/{}"
    done(shell(plane, f"{apply.format('crds')}\n{apply.format('install')}"))
    before = uids_of(plane)
    helm.upgrade(CRDS)
    helm.install(MAIN, "--take-ownership")
    assert uids_of(plane) == before
    done(shell(plane, f"kubectl -n {NAMESPACE} delete configmap -l {LEFT_BY_KUSTOMIZE}"))
    (configuration,) = (name for name in ours(plane) if name.startswith("ConfigMap"))
    helm.upgrade(MAIN, values=CALLED)
    assert configuration not in ours(plane)

    helm.upgrade(MAIN)
    done(
        shell(
            plane,
            f"{apply.format('install')}\nkubectl -n {NAMESPACE} delete secret -l owner=helm,name={MAIN}",
        )
    )
    assert MAIN not in helm.run("list", "--short").splitlines()
    assert uids_of(plane) == before
    assert unchanged(plane, stored)
    done(shell(plane, f"kubectl delete -k manifests/base\nkubectl create namespace {NAMESPACE}"))
    helm.install(CRDS)  # its record was in the namespace


def act(plane: ControlPlane, helm: Releases, sandbox: Sandbox, failpoints: str = "") -> list[str]:
    """A gang evicts a unit of three, one gated pod waits for others. Returns the gang's members.

    Groups are made before the webhooks, because nobody plays their server here.
    """
    helm.install(MAIN)
    sandbox.nodes(3, cpu="2")
    sandbox.node("small", cpu="1")
    sandbox.wait_bound(*sandbox.gang("low", 3, priority=1, cpu="2", mode="all"))
    sandbox.group("hero", min_count=2, priority=100)
    sandbox.group("late", min_count=3, priority=50)
    helm.upgrade(MAIN, values=ACTING)
    for kind in WEBHOOK_KINDS:
        plane.client.delete("admissionregistration.k8s.io/v1", kind, "reprieve")
    plane.processes[ENFORCES].environment = {"REPRIEVE_FAILPOINTS": failpoints} if failpoints else {}
    plane.start_reprieve(ENFORCES)
    wait_for(lambda: plane.leader() == ENFORCES, what="nobody leads")
    wait_mode(plane, "Enforce")
    sandbox.pod("late-0", priority=50, group="late", schedulingGates=[{"name": SCHEDULING_GATE}])
    return sandbox.pods("hero", 2, priority=100, cpu="2", group="hero")


def observe(plane: ControlPlane) -> None:
    """What the roll-out of another mode does: the process that observes is there when the other one ends."""
    configure(plane, OBSERVES, mode="Observe")
    plane.start_reprieve(OBSERVES)
    plane.processes[ENFORCES].stop(60)
    wait_mode(plane, "Observe")


@SELDOM
def test_from_enforce_to_observe_in_two_upgrades(
    plane: ControlPlane, helm: Releases, sandboxes: SandboxFactory
) -> None:
    """By the commands of NOTES.txt."""
    sandbox = sandboxes(plane)
    heroes = act(plane, helm, sandbox)
    sandbox.wait_bound(*heroes)
    mode, rights = helm.upgrades_of_the_notes()
    done(shell(plane, mode))
    assert "ClusterRole reprieve-enforce" in ours(plane)
    assert not [name for name in ours(plane) if "Webhook" in name]
    observe(plane)
    wait_nothing_held(plane)
    sandbox.wait_bound("late-0")
    assert traces(sandbox) == []
    done(shell(plane, rights))
    assert "ClusterRole reprieve-enforce" not in ours(plane)
    assert "Service reprieve" in ours(plane), "the other values are as before"
    assert "HeldWithoutRights" not in doctor(plane)
    sandbox.remove()


@SELDOM
def test_who_takes_mode_and_rights_away_at_once_finds_it_in_doctor(
    plane: ControlPlane, helm: Releases, sandboxes: SandboxFactory
) -> None:
    sandbox = sandboxes(plane)
    heroes = act(plane, helm, sandbox)
    sandbox.wait_bound(*heroes)
    helm.upgrade(MAIN, values=CALLED)
    observe(plane)
    wait_for(lambda: "lacksRights" in lease(plane)[HOLDS], what=lambda: lease(plane)[HOLDS])
    assert "HeldWithoutRights" in doctor(plane)
    helm.upgrade(MAIN, values={**CALLED, "rights": "Enforce"})  # the process asks for its rights each minute
    wait_nothing_held(plane)
    sandbox.wait_bound("late-0")
    assert "HeldWithoutRights" not in doctor(plane)
    sandbox.remove()


def doctor(plane: ControlPlane) -> str:
    return shell(plane, "reprieve doctor").stdout


def test_a_removal_in_the_middle_of_an_eviction_frees_what_is_held(
    plane: ControlPlane, helm: Releases, sandboxes: SandboxFactory
) -> None:
    """The test plays the kubelet of the hook's pod: it runs its command, with its account."""
    sandbox = sandboxes(plane)
    queues = queued(plane, helm, sandbox)
    act(plane, helm, sandbox, MIDDLE)
    wait_for(lambda: len(sandbox.history.evictions()) == 1, what=sandbox.report)
    plane.processes[ENFORCES].kill()
    removal = helm.start("uninstall", MAIN, "--timeout", "120s")
    pod = pod_of_the_hook(plane, removal)
    (container,) = pod["spec"]["containers"]
    account = account_file(plane, pod["spec"]["serviceAccountName"])
    said = shell(plane, f"reprieve {' '.join(container['args'])}", KUBECONFIG=str(account))
    done(said)
    assert said.stderr == ""
    succeed(plane, pod)
    _, errors = removal.communicate()
    assert (removal.returncode, errors) == (0, "")
    assert {name for name in ours(plane) if not name.startswith("Lease")} == set()
    sandbox.wait_bound("late-0")
    assert not [each for each in sandbox.list_pods() if each["spec"].get("schedulingGates")]
    assert not [each for each in sandbox.plans("hero") if each["metadata"].get("finalizers")]
    assert not plane.client.get("batch/v1", "Job", "waits", sandbox.namespace)["spec"]["suspend"]
    assert plane.client.list(KUEUE, "Workload", sandbox.namespace) == []
    for body in queues:  # without a finalizer it goes at once
        plane.client.delete(KUEUE, body["kind"], body["metadata"]["name"])
        assert plane.client.find(KUEUE, body["kind"], body["metadata"]["name"]) is None
    sandbox.remove()


def test_the_commands_of_the_page(plane: ControlPlane, helm: Releases, tmp_path: Path) -> None:
    """docs/install.md, "With Helm", from the first line to the last. Certificates are made elsewhere."""
    section = PAGE.partition("\n## With Helm\n")[2].partition("\n## ")[0]
    lines = [line for block in BLOCK.findall(section) for line in block.splitlines()]
    *others, removal = [
        re.sub(r"(?<=[ =])certificates\b", str(tmp_path / "certificates"), line) for line in lines
    ]
    assert len(others) > 5
    for line in others:
        done(shell(plane, line))
    assert "ClusterRole reprieve-enforce" in ours(plane)
    assert removal.startswith("helm uninstall reprieve ")
    ends = subprocess.Popen(["bash", "-euc", removal], cwd=ROOT, env=environment_of(plane), text=True)
    succeed(plane, pod_of_the_hook(plane, ends))
    assert ends.wait() == 0
    assert {name for name in ours(plane) if not name.startswith("Lease")} == set()
    done(shell(plane, f"kubectl -n {NAMESPACE} delete secret reprieve-extender-tls"))


def queued(plane: ControlPlane, helm: Releases, sandbox: Sandbox) -> list[Json]:
    """What the quota controller leaves: a Job that waits, its Workload, and what is in use, which is returned."""
    helm.upgrade(CRDS, "--set", "kueue=true")
    wait_served(plane.client, plane.client.list(*CRD))
    sandbox.job("waits", suspend=True)
    label = {"metadata": {"labels": {QUEUE_NAME_LABEL: "team"}}}
    plane.client.patch("batch/v1", "Job", "waits", label, sandbox.namespace)
    template = {"spec": {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"}}
    sets = [{"name": "main", "count": 1, "template": template}]
    plane.client.create(kueue("Workload", "waits", sandbox.namespace, spec={"podSets": sets}))
    bodies = [
        kueue("ClusterQueue", "team", spec={}),
        kueue("ResourceFlavor", "team", spec={}),
        kueue("AdmissionCheck", "team", spec={"controllerName": "nobody"}),
    ]
    for body in bodies:
        body["metadata"]["finalizers"] = [RESOURCE_IN_USE]
        plane.client.create(body)
    return bodies


def test_older_definitions_are_named_by_doctor_and_at_the_start(plane: ControlPlane, helm: Releases) -> None:
    helm.install(MAIN)
    path = path_of(*CRD, name="preemptionplans.reprieve.dev")
    shipped = plane.client.request("GET", path)
    without_mode(plane, path)
    try:
        found = doctor(plane)
        assert "DefinitionOlder" in found
        assert "preemptionplans.reprieve.dev lacks spec.mode" in found
        wait_for(lambda: not serves_mode(plane))
        configure(plane, OBSERVES, mode="Observe")
        plane.start_reprieve(OBSERVES)
        log = plane.layout.logs / f"{OBSERVES}.log"
        wait_for(lambda: "older than this process" in log.read_text(), what=log.read_text)
        assert "spec.mode" in log.read_text()
    finally:
        plane.client.request("PUT", path, shipped | {"metadata": newest(plane, path)})
    assert "DefinitionOlder" not in doctor(plane)


def newest(plane: ControlPlane, path: str) -> Json:
    metadata: Json = plane.client.request("GET", path)["metadata"]
    return metadata


def without_mode(plane: ControlPlane, path: str) -> None:
    """The definition of plans as it was when there was no field `spec.mode`."""
    older = plane.client.request("GET", path)
    (version,) = older["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["mode"]
    plane.client.request("PUT", path, older)


def serves_mode(plane: ControlPlane) -> bool:
    """Whether the API server says that plans have the field."""
    schemas = plane.client.request("GET", PATH)["components"]["schemas"]
    return "mode" in schemas["dev.reprieve.v1alpha1.PreemptionPlan"]["properties"]["spec"]["properties"]
