"""Reads what kustomize makes of the folders of manifests/, as far as it does not depend on other folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

__all__ = ["MANIFESTS", "Json", "objects", "patch_of"]

MANIFESTS: Final = Path(__file__).parents[2] / "manifests"
Json = dict[str, Any]


def objects(folder: str) -> list[Json]:
    """The objects in the files of a folder of manifests/, with the labels that its kustomization.yaml adds."""
    kustomization = _read(folder)
    labels = {name: text for each in kustomization.get("labels", ()) for name, text in each["pairs"].items()}
    files = [MANIFESTS / folder / name for name in kustomization["resources"] if name.endswith(".yaml")]
    found = [body for file in files for body in yaml.safe_load_all(file.read_text()) if body]
    for body in found:
        metadata = body["metadata"]
        if labels:
            body["metadata"] = {**metadata, "labels": {**metadata.get("labels", {}), **labels}}
    return found


def patch_of(folder: str, kind: str, name: str) -> Any:
    """The patch of a folder for an object: its content as YAML, a list of operations or a part of the object."""
    for patch in _read(folder)["patches"]:
        target = patch.get("target", {})
        if (target.get("kind"), target.get("name")) == (kind, name):
            text = patch.get("patch") or (MANIFESTS / folder / patch["path"]).read_text()
            return yaml.safe_load(text)
    raise KeyError(f"{folder} has no patch of {kind} {name}")


def _read(folder: str) -> Json:
    content: Json = yaml.safe_load((MANIFESTS / folder / "kustomization.yaml").read_text())
    return content
