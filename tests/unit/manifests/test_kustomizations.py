"""What `kubectl apply -k` and `kubectl delete -k` touch, for every folder that a user may name."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from hack.controlplane.binaries import binaries
from hack.controlplane.client import Json
from hack.controlplane.manifests import MANIFESTS, render

CRD = "CustomResourceDefinition"
NAMESPACE = "reprieve-system"
ROOT = MANIFESTS.parent
APPLIED = re.compile(r"^kubectl .* -k (manifests/\S+)", re.MULTILINE)
CRD_FOLDERS = {
    "crds": {
        "clusterpreemptionplans.reprieve.dev",
        "podgroups.reprieve.dev",
        "preemptionplans.reprieve.dev",
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


def is_reprieves(body: Json) -> bool:
    """Whether the object bears reprieve's name or is in reprieve's namespace."""
    metadata = body["metadata"]
    name: str = metadata["name"]
    if body["kind"] == "Namespace":
        return name == NAMESPACE
    return metadata.get("namespace") == NAMESPACE or name.partition("-")[0] == "reprieve"


def users_own(tmp_path: Path, component: str) -> Path:
    """The kustomization of a user who adds a component to the base."""
    content = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(MANIFESTS / "base", tmp_path)],
        "components": [os.path.relpath(MANIFESTS / component, tmp_path)],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(content))
    return tmp_path


@pytest.mark.parametrize("folder", sorted({*folders("Kustomization")} - {*CRD_FOLDERS}))
def test_installing_and_removing_touch_only_what_is_reprieves(folder: str) -> None:
    """No CRD: users' objects would be deleted with it."""
    objects = rendered(MANIFESTS / folder)
    assert objects
    assert [body["metadata"] for body in objects if body["kind"] == CRD or not is_reprieves(body)] == []


@pytest.mark.parametrize("component", folders("Component"))
def test_no_component_adds_an_object_of_others(tmp_path: Path, component: str) -> None:
    objects = rendered(users_own(tmp_path, component))
    assert [body["metadata"] for body in objects if body["kind"] == CRD or not is_reprieves(body)] == []


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
