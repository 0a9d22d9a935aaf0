"""What the chart `reprieve-crds` has: the CustomResourceDefinitions of manifests/, which Helm never deletes."""

from __future__ import annotations

from typing import Final

from hack.charts.folders import objects
from hack.charts.text import template

__all__ = ["templates"]

FOLDERS: Final = {"crds": "", "kueue-crds": ".Values.kueue"}
"""The folders of manifests/, and the condition on the values; empty: always."""
KEPT: Final = {"helm.sh/resource-policy": "keep"}


def templates() -> dict[str, str]:
    """By name of the file below templates/, its text."""
    found = {}
    for folder, condition in FOLDERS.items():
        for body in objects(folder):
            metadata = body["metadata"]
            body["metadata"] = {**metadata, "annotations": {**metadata.get("annotations", {}), **KEPT}}
            found[f"{metadata['name']}.yaml"] = template([body], condition)
    return found
