"""The kustomize folders as an archive, and the CRDs as one file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from hack.controlplane.binaries import binaries, renderer
from hack.release import archives
from hack.release.archives import Entry
from hack.release.errors import ReleaseError
from hack.release.running import run
from hack.release.source import Source

__all__ = ["CRDS", "crds", "make"]

CRDS: Final = "manifests/crds"
COMPONENT: Final = "Component"
"""A kind of kustomization that renders nothing by itself."""
SIDE: Final = frozenset({"manifests/install/settings", "manifests/install/certificates"})
"""Folders that hold files of an administrator. Without these there is nothing to render."""


def make(source: Source, tree: Path, version: str, scratch: Path, dist: Path) -> list[Path]:
    """Write both into the folder, and check that what is unpacked renders as the commit does."""
    archive = dist / f"reprieve-{version}-manifests.tar.gz"
    files = archives.entries(tree / "manifests", f"reprieve-{version}/manifests")
    files[f"reprieve-{version}/LICENSE"] = Entry((tree / "LICENSE").read_bytes())
    archive.write_bytes(archives.tar_gz(files, source.seconds))
    archives.write(archives.of_tar(archive), scratch / "manifests")
    _check(tree, scratch / "manifests" / f"reprieve-{version}")
    one = dist / f"reprieve-{version}-crds.yaml"
    one.write_text(crds(tree / CRDS))
    return [archive, one]


def crds(folder: Path) -> str:
    """The CRDs of a kustomize folder in one file, in its order. Raises ReleaseError if it has anything else."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    documents = [(folder / name).read_text() for name in kustomization["resources"]]
    kinds = {each["kind"] for text in documents for each in yaml.safe_load_all(text) if each}
    if kinds != {"CustomResourceDefinition"}:
        raise ReleaseError(f"{folder} has other objects than CRDs: {', '.join(sorted(kinds))}")
    return "".join(f"---\n{text.removeprefix('---').strip()}\n" for text in documents)


def _check(tree: Path, unpacked: Path) -> None:
    name = renderer()
    program = binaries([name])[name]
    for folder in _folders(tree):
        if _rendered(program, tree / folder) != _rendered(program, unpacked / folder):
            raise ReleaseError(f"{folder} of the archive renders other objects than the commit's")


def _folders(tree: Path) -> list[Path]:
    """The kustomizations that can be rendered by themselves."""
    found: Mapping[Path, object] = {
        path.parent.relative_to(tree): (yaml.safe_load(path.read_text()) or {}).get("kind")
        for path in sorted((tree / "manifests").rglob("kustomization.yaml"))
    }
    return [folder for folder, kind in found.items() if kind != COMPONENT and str(folder) not in SIDE]


def _rendered(program: Path, folder: Path) -> str:
    return run(program, *(["kustomize"] if program.name == "kubectl" else []), folder)
