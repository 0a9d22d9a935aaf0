"""The Helm charts as archives."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hack.controlplane.binaries import binaries
from hack.release import archives
from hack.release.running import run
from hack.release.source import Source

__all__ = ["HELM", "charts", "make"]

HELM: Final = "helm"


def charts(tree: Path) -> list[Path]:
    """The folders of the charts."""
    return sorted(path.parent for path in tree.glob("charts/*/Chart.yaml"))


def make(source: Source, tree: Path, scratch: Path, dist: Path) -> list[Path]:
    """Write an archive for each chart. Helm checks it, and `archives` settles its bytes."""
    folders = charts(tree)
    made: list[Path] = []
    if folders:
        helm = binaries([HELM])[HELM]
        for folder in folders:
            run(helm, "lint", folder)
            packed = scratch / "charts" / folder.name
            run(helm, "package", folder, "--destination", packed)
            (archive,) = packed.glob("*.tgz")
            made.append(dist / archive.name)
            made[-1].write_bytes(archives.tar_gz(archives.of_tar(archive), source.seconds))
    return made
