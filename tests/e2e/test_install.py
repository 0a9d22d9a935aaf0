"""docs/install.md on a cluster: its commands install reprieve, and removing it deletes no object that users made."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import pytest

from api.crds import definitions
from api.groups import API_VERSION
from api.meta import ObjectMeta
from api.plans import PreemptionPlan, PreemptionPlanSpec, Preemptor
from controllers.gangs.stored import FINALIZER
from hack.controlplane.binaries import binaries
from hack.controlplane.client import ApiError, Json
from hack.controlplane.objects import pod_group
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import wait_until
from tests.e2e.versions import SINGLE, version_of
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.manifests import kueue

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "install.md").read_text()
SECTION: Final = re.compile(r"^##+ (?P<title>.*)$", re.MULTILINE)
BLOCK: Final = re.compile(r"^```sh\n(?P<lines>(?:.*\n)*?)```$", re.MULTILINE)
CRD: Final = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
GROUP: Final = pod_group("training", min_count=2)
QUEUE: Final = kueue("ClusterQueue", "team", spec={})
PLAN: Final[Json] = msgspec.to_builtins(
    PreemptionPlan(
        metadata=ObjectMeta(name="training-1", namespace="default", finalizers=[FINALIZER]),
        spec=PreemptionPlanSpec(
            preemptor=Preemptor("PodGroup", API_VERSION, "default", "training", "uid", 100),
            outcome="Fits",
            reason="it fits",
        ),
    )
)
"""A plan that was being carried out when reprieve was removed."""
OURS: Final = {
    f"{plural}.reprieve.dev" for plural in ("podgroups", "preemptionplans", "clusterpreemptionplans")
}
KUEUES: Final = {
    each["metadata"]["name"] for each in definitions().values() if each["spec"]["group"] == "kueue.x-k8s.io"
}
KINDS: Final = (
    ("v1", "Namespace"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
)


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A cluster that has never seen reprieve; each test leaves it so."""
    return start_plane(Options(manifests=()))


def commands(title: str) -> list[str]:
    """What the section tells the reader to do with kubectl."""
    _, *rest = SECTION.split(PAGE)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    lines = "".join(BLOCK.findall(sections[title])).splitlines()
    found = [line for line in lines if line.startswith("kubectl ")]
    assert found, title
    return found


def kubectl(plane: ControlPlane, command: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command line from the page in the checkout, or in that of another version."""
    programs = binaries(["kubectl"])["kubectl"].parent
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "KUBECONFIG": str(plane.kubeconfig),
        "KUBECACHEDIR": str(plane.directory / "kubectl"),
    }
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def follow(plane: ControlPlane, title: str, folder: Path = ROOT) -> None:
    """Do what the section says, in the checkout of a version. Fails the test with the first complaint."""
    for command in commands(title):
        result = kubectl(plane, command, folder)
        assert result.returncode == 0, f"{command}\n{result.stderr}"


def crds(plane: ControlPlane) -> set[str]:
    return {each["metadata"]["name"] for each in plane.client.list(*CRD)}


def wait_until_cached(plane: ControlPlane) -> None:
    """Wait until the API server has the objects of every kind in its watch cache.

    A CRD that is deleted before that may stay for minutes: the first attempt to delete its objects fails ("storage is
    (re)initializing"), and the CRDFinalizer of apiextensions-apiserver loses the next one when its own cache is behind.
    """
    for crd in plane.client.list(*CRD):
        spec = crd["spec"]
        path = (
            f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}?resourceVersion=0"
        )
        wait_until(partial(answers, plane, path), PATIENCE_SECONDS, f"{path} has no answer".__str__)


def answers(plane: ControlPlane, path: str) -> bool:
    try:
        plane.client.request("GET", path)
    except ApiError:
        return False
    return True


def kept(plane: ControlPlane, body: Json) -> bool:
    """Whether the object is the one that was created, not a new one of the same name."""
    meta = body["metadata"]
    found = plane.client.find(body["apiVersion"], body["kind"], meta["name"], meta.get("namespace"))
    return found is not None and found["metadata"]["uid"] == meta["uid"]


def of_reprieve(plane: ControlPlane) -> list[str]:
    """The objects with reprieve's name that are in the cluster."""
    return [
        f"{kind} {each['metadata']['name']}"
        for version, kind in KINDS
        for each in plane.client.list(version, kind)
        if each["metadata"]["name"].startswith("reprieve")
    ]


def test_users_keep_their_objects_until_they_take_the_crd_steps(plane: ControlPlane) -> None:
    before = crds(plane)
    follow(plane, "2. CRDs")
    assert crds(plane) - before == OURS | KUEUES
    # The webhooks refuse both while reprieve is installed: no kubelet runs its server here.
    group, queue = plane.client.create(GROUP), plane.client.create(QUEUE)
    plan = plane.client.create(PLAN)
    follow(plane, "3. reprieve")
    assert of_reprieve(plane)

    follow(plane, "reprieve")
    assert of_reprieve(plane) == []
    assert crds(plane) - before == OURS | KUEUES
    assert kept(plane, group)
    assert kept(plane, queue)
    assert kept(plane, plan)

    wait_until_cached(plane)
    follow(plane, "The CRDs")
    assert crds(plane) - before == KUEUES
    assert kept(plane, queue)

    follow(plane, "Kueue's kinds")
    assert crds(plane) == before


def test_one_replica_becomes_two_and_one_again(plane: ControlPlane, tmp_path: Path) -> None:
    """The Deployment is what the manifests of either version say, though it was scaled by hand."""
    earlier = version_of(SINGLE, tmp_path, knows_replicas=False).tree
    follow(plane, "2. CRDs")
    assert kubectl(plane, "kubectl apply --server-side -k manifests/base", earlier).returncode == 0
    assert deployment(plane) == (1, {"type": "Recreate"})
    follow(plane, "From one replica to two")
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    assert deployment(plane) == (2, rolling)
    follow(plane, "From one replica to two", earlier)  # the same steps lead back
    assert deployment(plane) == (1, {"type": "Recreate"})
    follow(plane, "reprieve")
    wait_until_cached(plane)
    follow(plane, "The CRDs")
    follow(plane, "Kueue's kinds")


def deployment(plane: ControlPlane) -> tuple[int, Json]:
    """The replicas and the strategy of reprieve."""
    spec = plane.client.get("apps/v1", "Deployment", "reprieve", "reprieve-system")["spec"]
    return spec["replicas"], spec["strategy"]


def test_crds_that_kueue_took_over_are_neither_removed_nor_overwritten(plane: ControlPlane) -> None:
    """Kueue puts the label `app.kubernetes.io/name: kueue` on its CRDs (config/default of kubernetes-sigs/kueue)."""
    _, kueues = commands("2. CRDs")
    assert kubectl(plane, kueues).returncode == 0
    for body in definitions().values():
        if body["metadata"]["name"] in KUEUES:
            body["metadata"]["labels"] = {"app.kubernetes.io/name": "kueue"}
            body["spec"]["names"]["categories"] = ["kueue"]
            plane.client.apply(body)
    follow(plane, "Kueue's kinds")
    assert crds(plane) >= KUEUES

    again = kubectl(plane, kueues)
    assert again.returncode != 0
    assert "conflict" in again.stderr
    wait_until_cached(plane)
    for name in KUEUES:
        assert plane.client.get(*CRD, name)["spec"]["names"]["categories"] == ["kueue"]
        plane.client.delete(*CRD, name)
