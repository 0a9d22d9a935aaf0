"""The image, by buildah: from bases that are given by digest, so that the same commit gives the same digest."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hack.release import archives
from hack.release.errors import ReleaseError
from hack.release.running import OTHERS, run
from hack.release.source import Source

__all__ = ["BASES", "Store", "bases", "build_twice", "missing", "write"]

BASES: Final = "release/bases.env"
NAMES: Final = ("BUILD_BASE", "RUN_BASE")
BY_DIGEST: Final = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")
SECRETS: Final = {
    "certificates": Path("/etc/ssl/certs/ca-certificates.crt"),
    "pip": Path("/etc/pip.conf"),
    "npm": Path("/etc/npmrc"),
}
"""Of this machine: how it reaches and trusts the mirrors of packages. The Dockerfile mounts them where it installs
packages, if they are given. The image does not have them."""


def bases(path: Path) -> dict[str, str]:
    """The bases by the names of build arguments; empty if no digest is given. Raises ReleaseError if one is wrong."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    values = dict(line.partition("=")[::2] for line in lines)
    if set(values) != set(NAMES):
        raise ReleaseError(
            f"{path} must have {' and '.join(NAMES)}, and has {', '.join(values) or 'nothing'}"
        )
    if not any(values.values()):
        return {}
    for name, value in values.items():
        if BY_DIGEST.fullmatch(value) is None:
            raise ReleaseError(f"{path}: {name} must be NAME@sha256:DIGEST, and is {value or 'empty'}")
    return values


def missing(*programs: str) -> list[str]:
    """Those programs that are not on this machine."""
    return [name for name in programs if shutil.which(name) is None]


@dataclass(frozen=True)
class Store:
    """A storage of images in a folder. It needs no daemon, no overlay, and no registry."""

    folder: Path

    def run(self, *arguments: str | Path) -> str:
        """What buildah prints. Raises ReleaseError."""
        places = ("--root", self.folder / "root", "--runroot", self.folder / "run")
        return run("buildah", *places, "--storage-driver", "vfs", *arguments, cwd=self.folder, umask=0o022)

    def add(self, archive: Path, name: str, seconds: int) -> str:
        """Make an image of one tar archive of a root. Returns its name by digest."""
        container = self.run("from", "scratch").strip()
        try:
            self.run("add", "--quiet", container, archive, "/")
            self.run("commit", "--quiet", "--timestamp", str(seconds), container, name)
        finally:
            self.run("rm", container)
        return f"localhost/{name}@{self.digest(name)}"

    def build(self, tree: Path, chosen: Mapping[str, str], name: str, seconds: int) -> str:
        """Build the Dockerfile of a tree. Returns the digest of the manifest, sha256:..."""
        arguments = [part for each in chosen.items() for part in ("--build-arg", "=".join(each))]
        secrets = [f"--secret=id={key},src={file}" for key, file in SECRETS.items() if file.is_file()]
        self.run(
            *("build", "--quiet", "--isolation", "chroot", "--layers=false", "--format", "oci", "--no-cache"),
            *("--pull=false", "--timestamp", str(seconds), *arguments, *secrets, "--tag", name),
            tree,
        )
        return self.digest(name)

    def digest(self, name: str) -> str:
        """The digest of the manifest of an image."""
        described: dict[str, Any] = json.loads(self.run("inspect", "--type", "image", name))
        digest: str = described["FromImageDigest"]
        return digest

    def remove(self) -> None:
        """Remove all images, and the folder."""
        self.run("rm", "--all")
        shutil.rmtree(self.folder)

    @contextmanager
    def mounted(self, name: str) -> Iterator[Path]:
        """A copy of the root of an image, for a while."""
        container = self.run("from", "--pull=never", name).strip()
        try:
            yield Path(self.run("mount", container).strip())
        finally:
            self.run("umount", container)
            self.run("rm", container)


def build_twice(store: Store, source: Source, chosen: Mapping[str, str], name: str) -> str:
    """Build the Dockerfile in two folders. Returns the digest of the manifest. Raises ReleaseError if it differs."""
    trees = [source.export(store.folder / "one"), source.export(store.folder / "another place", OTHERS.age)]
    digests = {store.build(tree, chosen, name, source.seconds) for tree in trees}
    if len(digests) > 1:
        raise ReleaseError(f"two builds of the image differ: {' and '.join(sorted(digests))}")
    return digests.pop()


def write(store: Store, name: str, seconds: int, dist: Path) -> Path:
    """Write an image into the folder, as an OCI archive."""
    with tempfile.TemporaryDirectory(dir=store.folder) as scratch:
        layout = Path(scratch, "layout")
        store.run("push", name, f"oci:{layout}:{name}")
        path = dist / f"{name.replace(':', '-')}-image.oci.tar"
        path.write_bytes(archives.tar(archives.entries(layout), seconds))
    return path
