"""Earlier versions of this project, made from the history of its repository."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

import pytest
import yaml

from hack.controlplane.binaries import binaries, cache_root
from hack.controlplane.manifests import apply_cluster_objects, render
from hack.controlplane.plane import ControlPlane

__all__ = ["CURRENT", "REPLICATED", "SINGLE", "Version", "extract", "version_of"]

SINGLE: Final = os.environ.get("REPRIEVE_E2E_SINGLE", "4832116f27b16476595acd8e0056f07a1525bb76")
"""The last commit without a Lease. One replica runs, and is replaced by the strategy Recreate."""
REPLICATED: Final = os.environ.get("REPRIEVE_E2E_REPLICATED", "9a02d1f159b2c1a559bfff2a4c649e083a23db12")
"""The first commit with two replicas. Its deletions are not fenced."""
ROOT: Final = Path(__file__).parents[2]
KERNELS: Final = ("native", "schema")
"""The folders with compiled modules."""


@dataclass(frozen=True)
class Version:
    """A source tree of reprieve with its kernels compiled."""

    tree: Path
    knows_replicas: bool = True

    def apply(self, plane: ControlPlane, *folders: str) -> None:
        """Apply these folders of the version's manifests, as far as a local plane needs them."""
        kubectl = binaries(["kubectl"])["kubectl"]
        for folder in folders:
            apply_cluster_objects(plane.client, render(kubectl, self.tree / "manifests" / folder))

    def start(self, plane: ControlPlane, name: str, environment: dict[str, str] | None = None) -> None:
        """Start a process of this version, and wait until it is ready."""
        process, file = plane.processes[name], plane.directory / f"{name}.yaml"
        if not self.knows_replicas:
            settings = yaml.safe_load(file.read_text())
            del settings["leaderElection"], settings["extender"]["peers"]
            file = plane.directory / f"{name}-alone.yaml"
            file.write_text(yaml.safe_dump(settings))
        process.command = [process.command[0], "serve", "--config", str(file)]
        process.environment = {"PYTHONPATH": str(self.tree), **(environment or {})}
        plane.start_reprieve(name)


CURRENT: Final = Version(ROOT)


def version_of(commit: str, folder: Path, *, knows_replicas: bool = True) -> Version:
    """The version of a commit. Skips the test as `extract` does."""
    extract(commit, folder)
    _compile(folder)
    return Version(folder, knows_replicas)


def extract(commit: str, folder: Path, *paths: str) -> None:
    """Put the files of a commit, or those below `paths`, into the folder.

    Skips the test where the history does not have the commit: in an archive, or a shallow clone.
    """
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    archive = _git("archive", "--format=tar", commit, *paths)
    if archive.returncode != 0:
        pytest.skip(f"commit {commit} is not in the history: {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        tar.extractall(folder, filter="data")


def _compile(folder: Path) -> None:
    """Compile the kernels of this tree in place. They come from the cache if the same sources were compiled before."""
    kept = cache_root().parent / "kernels" / _key(folder)
    if not kept.is_dir():
        build = "from setuptools import setup; setup()"
        subprocess.run([sys.executable, "-c", build, "build_ext", "--inplace"], cwd=folder, check=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as fresh:
            _copy_modules(folder, Path(fresh) / "kept")
            with suppress(OSError):  # another process was faster
                (Path(fresh) / "kept").rename(kept)
    _copy_modules(kept, folder)


def _key(folder: Path) -> str:
    """It changes with everything that goes into the compiled modules."""
    digest = hashlib.sha256()
    for part in (metadata.version("cython"), sysconfig.get_config_var("EXT_SUFFIX"), sys.version):
        digest.update(f"{part}\0".encode())
    sources = (path for kernels in KERNELS for path in (folder / kernels).rglob("*.p[yx][xd]"))
    for source in sorted((folder / "pyproject.toml", *sources)):
        digest.update(f"{source.relative_to(folder)}\0".encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _copy_modules(source: Path, target: Path) -> None:
    for kernels in KERNELS:
        for module in (source / kernels).rglob("*.so"):
            copy = target / module.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(module, copy)


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
