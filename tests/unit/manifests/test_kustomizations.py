"""What `kubectl apply -k` and `kubectl delete -k` touch, for every folder that a user may name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from hack.controlplane.binaries import binaries
from hack.controlplane.client import Json
from hack.controlplane.manifests import MANIFESTS, render
from tests.kit.values import ACTING, OFFERED, VALUES, checkout, choose

CRD = "CustomResourceDefinition"
NAMESPACE = "reprieve-system"
NAMESPACES = (NAMESPACE, "reprieve-multikueue")
ROOT = MANIFESTS.parent
APPLIED = re.compile(r"^kubectl .* -k (manifests/\S+)", re.MULTILINE)
CRD_FOLDERS = {
    "crds": {
        "clusterpreemptionplans.reprieve.dev",
        "dispatchplans.reprieve.dev",
        "podgroups.reprieve.dev",
        "preemptionplans.reprieve.dev",
        "preemptionreports.reprieve.dev",
    },
    "kueue-crds": {
        f"{plural}.kueue.x-k8s.io"
        for plural in (
            "admissionchecks",
            "clusterqueues",
            "cohorts",
            "localqueues",
            "multikueueclusters",
            "multikueueconfigs",
            "resourceflavors",
            "workloadpriorityclasses",
            "workloads",
        )
    },
}
"""The only folders with CRDs, and what each defines."""


def folders(kind: str) -> list[str]:
    """The folders whose kustomization.yaml is of this kind, relative to manifests/."""
    files = sorted(MANIFESTS.rglob("kustomization.yaml"))
    return [
        str(file.parent.relative_to(MANIFESTS))
        for file in files
        if yaml.safe_load(file.read_text())["kind"] == kind
    ]


def rendered(folder: Path) -> list[Json]:
    return render(binaries(["kubectl"])["kubectl"], folder)


@pytest.mark.parametrize("folder", sorted({*folders("Kustomization")} - {"install"}))
def test_kustomize_renders_what_kubectl_renders(folder: str) -> None:
    """The demo has no kubectl. The certificates of install/ are not in the repository."""
    assert render(binaries(["kustomize"])["kustomize"], MANIFESTS / folder) == rendered(MANIFESTS / folder)


def is_reprieves(body: Json) -> bool:
    """Whether the object bears reprieve's name or is in a namespace of reprieve's."""
    metadata = body["metadata"]
    name: str = metadata["name"]
    if body["kind"] == "Namespace":
        return name in NAMESPACES
    return metadata.get("namespace") in NAMESPACES or name.partition("-")[0] == "reprieve"


def needed(component: str) -> list[str]:
    """The component after those that it may need: of a reprieve that acts."""
    acting = [os.path.normpath(Path("install") / each) for each in ACTING]
    return [*acting, component] if component not in acting else acting[: acting.index(component) + 1]


def users_own(tmp_path: Path, manifests: Path, component: str) -> Path:
    """The kustomization of a user who adds a component to the base."""
    content = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(manifests / "base", tmp_path)],
        "components": [os.path.relpath(manifests / each, tmp_path) for each in needed(component)],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(content))
    return tmp_path


@pytest.fixture(scope="module")
def with_certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders, once `hack/certificates` has written what manifests/install makes Secrets of."""
    return checkout(tmp_path_factory.mktemp("checkout"))


@pytest.mark.parametrize("folder", sorted({*folders("Kustomization")} - {*CRD_FOLDERS}))
def test_installing_and_removing_touch_only_what_is_reprieves(folder: str, with_certificates: Path) -> None:
    """No CRD: users' objects would be deleted with it."""
    objects = rendered(with_certificates / folder)
    assert objects
    assert [body["metadata"] for body in objects if body["kind"] == CRD or not is_reprieves(body)] == []


@pytest.mark.parametrize("component", folders("Component"))
def test_no_component_adds_an_object_of_others(
    tmp_path: Path, with_certificates: Path, component: str
) -> None:
    objects = rendered(users_own(tmp_path, with_certificates, component))
    assert [body["metadata"] for body in objects if body["kind"] == CRD or not is_reprieves(body)] == []


@contextmanager
def values(manifests: Path, *components: str) -> Iterator[Path]:
    """The file of values with these components, for a while."""
    file = manifests / VALUES
    before = file.read_text()
    file.write_text(choose(before, components))
    try:
        yield file
    finally:
        file.write_text(before)


def test_the_values_offer_every_component() -> None:
    assert sorted(os.path.normpath(Path("install") / each) for each in OFFERED) == folders("Component")


@pytest.mark.parametrize("component", OFFERED)
def test_each_component_can_be_chosen_in_the_values(component: str, with_certificates: Path) -> None:
    with values(with_certificates, *(each for each in ACTING if each != component), component) as file:
        objects = rendered(file.parent)
    assert [each for each in objects if each["kind"] == "Deployment"]


def test_the_values_set_the_images_and_the_certificates(with_certificates: Path) -> None:
    with values(with_certificates, *ACTING, "../components/second-scheduler") as file:
        file.write_text(file.read_text().replace("newName: ", "newName: registry.example/"))
        objects = rendered(file.parent)
    images = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]["containers"][0]["image"]
        for each in objects
        if each["kind"] == "Deployment"
    }
    assert images == {
        "reprieve": "registry.example/reprieve:0.1.0",
        "reprieve-webhooks": "registry.example/reprieve:0.1.0",
        "reprieve-scheduler": "registry.example/kube-scheduler:v1.37.2",
    }
    named = {
        volume["secret"]["secretName"]
        for each in objects
        if each["kind"] == "Deployment"
        for volume in each["spec"]["template"]["spec"]["volumes"]
        if "secret" in volume
    }
    assert named == {each["metadata"]["name"] for each in objects if each["kind"] == "Secret"}


@pytest.mark.parametrize("folder", CRD_FOLDERS)
def test_a_folder_of_crds_has_these_and_nothing_else(folder: str) -> None:
    objects = rendered(MANIFESTS / folder)
    assert {body["kind"] for body in objects} == {CRD}
    assert {body["metadata"]["name"] for body in objects} == CRD_FOLDERS[folder]


@pytest.mark.parametrize("page", ["docs/install.md", "hack/kind/README.md"])
def test_pages_name_folders_that_exist(page: str) -> None:
    named = APPLIED.findall((ROOT / page).read_text())
    assert named
    assert [folder for folder in named if not (ROOT / folder / "kustomization.yaml").is_file()] == []
