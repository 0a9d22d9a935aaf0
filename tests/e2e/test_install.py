"""docs/install.md on a cluster: its commands install reprieve, and removing it deletes no object that users made."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import pytest
import yaml

from api.crds import definitions
from api.groups import API_VERSION
from api.meta import ObjectMeta
from api.plans import PreemptionPlan, PreemptionPlanSpec, Preemptor
from controllers.gangs.lifecycle.stored_plan import FINALIZER
from hack.controlplane.client import ApiError, Json
from hack.controlplane.objects import pod_group
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import wait_until
from tests.e2e.releases import CLUSTER_KINDS, shell
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.manifests import kueue
from tests.kit.often import SELDOM
from tests.kit.values import MADE

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "install.md").read_text()
SECTION: Final = re.compile(r"^##+ (?P<title>.*)$", re.MULTILINE)
BLOCK: Final = re.compile(r"^ *```sh\n(?P<lines>(?:.*\n)*?) *```$", re.MULTILINE)
KIND: Final = (ROOT / "hack" / "kind" / "README.md").read_text()
ELSEWHERE: Final = ("make build",)
"""What the page tells the reader to do before, and the test has done."""
NOT_HERE: Final = (*ELSEWHERE, "#", "kind ", "docker ", "kubectl -n reprieve-system rollout status")
"""Without Docker there is no kind, and without a kubelet no pod becomes ready."""
SCHEDULER: Final = Path("manifests") / "install" / "certificates" / "scheduler" / "kube-scheduler.yaml"
VALUES: Final = Path("manifests") / "install" / "kustomization.yaml"
CRD: Final = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
WEBHOOKS: Final = "mutatingwebhookconfiguration,validatingwebhookconfiguration"
GROUP: Final = pod_group("training", min_count=2)
QUEUE: Final = kueue("ClusterQueue", "team", spec={})
OURS: Final = {
    f"{plural}.reprieve.dev"
    for plural in (
        "podgroups",
        "preemptionplans",
        "clusterpreemptionplans",
        "preemptionreports",
        "dispatchplans",
    )
}
KUEUES: Final = {
    each["metadata"]["name"] for each in definitions().values() if each["spec"]["group"] == "kueue.x-k8s.io"
}
KINDS: Final = (("v1", "Namespace"), *CLUSTER_KINDS)


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A cluster that has never seen reprieve. Each test leaves it so, but for the last one."""
    return start_plane(Options(manifests=()))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page needs of a checkout. Its values may be changed."""
    return copied(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """The same, with the values as they are shipped."""
    return copied(tmp_path)


def copied(folder: Path) -> Path:
    shutil.copytree(ROOT / "manifests", folder / "manifests", ignore=shutil.ignore_patterns(*MADE))
    for name in ("hack", "examples", ".venv"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def commands(title: str) -> list[str]:
    """What the section tells the reader to do."""
    _, *rest = SECTION.split(PAGE)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    lines = [line.strip() for line in "".join(BLOCK.findall(sections[title])).splitlines()]
    found = [line for line in lines if not line.startswith(ELSEWHERE)]
    assert found, title
    return found


def follow(plane: ControlPlane, title: str, folder: Path, **names: str) -> None:
    """Do what the section says. The names take the place of the page's. Fails the test with what bash complains of."""
    script = "\n".join(commands(title))
    for old, new in names.items():
        script = script.replace(old, new)
    result = shell(plane, script, folder)
    assert result.returncode == 0, f"{script}\n{result.stdout}\n{result.stderr}"


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


def plan_of(name: str) -> Json:
    """A plan that was being carried out when reprieve was removed."""
    body: Json = msgspec.to_builtins(
        PreemptionPlan(
            metadata=ObjectMeta(name=name, namespace="default", finalizers=[FINALIZER]),
            spec=PreemptionPlanSpec(
                preemptor=Preemptor("PodGroup", API_VERSION, "default", "training", "uid", 100),
                outcome="Fits",
                reason="it fits",
            ),
        )
    )
    return body


def without_webhooks(plane: ControlPlane, checkout: Path, *bodies: Json) -> list[Json]:
    """Create objects that the webhooks refuse: no kubelet runs their server here."""
    assert shell(plane, f"kubectl delete {WEBHOOKS} reprieve", checkout).returncode == 0
    return [plane.client.create(body) for body in bodies]


@SELDOM
def test_the_page_from_the_first_step_to_the_last(plane: ControlPlane, checkout: Path) -> None:
    """Users keep their objects until they take the steps for CRDs. Every step can be repeated."""
    before = crds(plane)
    follow(plane, "With kubectl", checkout)
    assert crds(plane) - before == OURS
    follow(plane, "2. CRDs", checkout)
    assert crds(plane) - before == OURS | KUEUES
    follow(plane, "3. reprieve", checkout)
    assert of_reprieve(plane)
    observes = commands("3. reprieve")
    assert not [name for name in of_reprieve(plane) if "Webhook" in name or "enforce" in name], observes
    follow(plane, "4. Letting it act", checkout)
    assert deployment(plane, "reprieve-webhooks")["replicas"] == 2
    assert "ClusterRole reprieve-enforce" in of_reprieve(plane)
    bodies = without_webhooks(plane, checkout, GROUP, QUEUE, plan_of("training-1"), plan_of("training-2"))
    group, queue, stuck, active = bodies
    follow(plane, "Plans", checkout, NAMESPACE="default", NAME="training-1")
    assert finalizers_of(plane, stuck) == []
    assert finalizers_of(plane, active) == [FINALIZER]

    follow(plane, "5. The scheduler", checkout)
    asked = yaml.safe_load((checkout / SCHEDULER).read_text())["extenders"]
    address = plane.client.get("v1", "Service", "reprieve", "reprieve-system")["spec"]["clusterIP"]
    assert [each["urlPrefix"] for each in asked] == [f"https://{address}:9443/v1"] * 2
    change(checkout / VALUES, "  # - ../components/second", "  - ../components/second")
    change(checkout / VALUES, "newName: kube-scheduler", "newName: registry.example/kube-scheduler")
    follow(plane, "Managed clusters", checkout)
    (container,) = deployment(plane, "reprieve-scheduler")["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/kube-scheduler:v1.37.2"

    follow(plane, "Its certificates", checkout)
    assert deployment(plane, "reprieve-webhooks")["replicas"] == 2
    doctor, example = commands("Checking")
    found = shell(plane, doctor, checkout)
    assert (found.returncode, "NobodyLeads" in found.stdout) == (3, True), found.stdout + found.stderr
    assert "failed calling webhook" in shell(plane, example, checkout).stderr

    by_hand = "kubectl -n reprieve-system scale deployment reprieve --replicas 1"
    assert shell(plane, by_hand, checkout).returncode == 0
    follow(plane, "Upgrading", checkout)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    assert (deployment(plane)["replicas"], deployment(plane)["strategy"]) == (2, rolling)

    for _ in range(2):
        follow(plane, "reprieve", checkout)
        assert of_reprieve(plane) == []
    assert crds(plane) - before == OURS | KUEUES
    assert all(kept(plane, body) for body in (group, queue, active))
    wait_until_cached(plane)
    for _ in range(2):
        follow(plane, "The CRDs", checkout)
        assert crds(plane) - before == KUEUES
    assert kept(plane, queue)
    for _ in range(2):
        follow(plane, "Kueue's kinds", checkout)
        assert crds(plane) == before


def test_the_lines_of_the_readme_observe_and_then_let_it_act(plane: ControlPlane, fresh: Path) -> None:
    """They stand there as they are run, but for the image."""
    section = (ROOT / "README.md").read_text().partition("\n## On a cluster\n")[2].partition("\n## ")[0]
    observes, acts = BLOCK.findall(section)
    first = "\n".join(line for line in observes.splitlines() if not line.startswith("reprieve"))
    for lines, expected in ((first, False), (acts, True), (acts, True)):
        result = shell(plane, lines, fresh)
        assert result.returncode == 0, f"{lines}\n{result.stdout}\n{result.stderr}"
        found = of_reprieve(plane)
        assert ("ClusterRole reprieve-enforce" in found) == expected
        assert ("MutatingWebhookConfiguration reprieve" in found) == expected
        service = plane.client.find("v1", "Service", "reprieve", "reprieve-system")
        assert (service is not None) == expected
    removed = shell(plane, "kubectl delete --ignore-not-found -k manifests/install", fresh)
    assert removed.returncode == 0, removed.stderr
    assert shell(plane, "kubectl delete --ignore-not-found -k manifests/crds", fresh).returncode == 0
    assert of_reprieve(plane) == []


def change(file: Path, old: str, new: str) -> None:
    """What the reader does in an editor."""
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def finalizers_of(plane: ControlPlane, plan: Json) -> list[str]:
    found = plane.client.get(API_VERSION, "PreemptionPlan", plan["metadata"]["name"], "default")
    finalizers: list[str] = found["metadata"].get("finalizers", [])
    return finalizers


def deployment(plane: ControlPlane, name: str = "reprieve") -> Json:
    """Its spec."""
    spec: Json = plane.client.get("apps/v1", "Deployment", name, "reprieve-system")["spec"]
    return spec


def test_crds_that_kueue_took_over_are_neither_removed_nor_overwritten(
    plane: ControlPlane, checkout: Path
) -> None:
    """Kueue puts the label `app.kubernetes.io/name: kueue` on its CRDs (config/default of kubernetes-sigs/kueue)."""
    (kueues,) = commands("2. CRDs")
    assert shell(plane, kueues, checkout).returncode == 0
    for body in definitions().values():
        if body["metadata"]["name"] in KUEUES:
            body["metadata"]["labels"] = {"app.kubernetes.io/name": "kueue"}
            body["spec"]["names"]["categories"] = ["kueue"]
            plane.client.apply(body)
    follow(plane, "Kueue's kinds", checkout)
    assert crds(plane) >= KUEUES

    again = shell(plane, kueues, checkout)
    assert again.returncode != 0
    assert "conflict" in again.stderr
    wait_until_cached(plane)
    for name in KUEUES:
        assert plane.client.get(*CRD, name)["spec"]["names"]["categories"] == ["kueue"]
        plane.client.delete(*CRD, name)


def test_the_page_about_kind(plane: ControlPlane, checkout: Path) -> None:
    block = BLOCK.findall(KIND)[0]
    lines = [line for line in block.splitlines() if line and not line.startswith(NOT_HERE)]
    assert len(lines) == 7
    result = shell(plane, "\n".join(lines), checkout)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert (
        "//10.96.77.77:" in (checkout / ".cluster" / "kind" / "scheduler" / "kube-scheduler.yaml").read_text()
    )
    assert (
        plane.client.get("v1", "Service", "reprieve", "reprieve-system")["spec"]["clusterIP"] == "10.96.77.77"
    )
