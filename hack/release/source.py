"""The commit that is released."""

from __future__ import annotations

import os
import subprocess
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from hack.release.errors import ReleaseError
from hack.release.running import run

__all__ = ["Source", "read"]


@dataclass(frozen=True)
class Source:
    """A checkout whose files are those of its commit."""

    root: Path
    commit: str
    seconds: int
    """When it was committed, since 1970: the time of every file in every archive."""
    tags: tuple[str, ...]

    def export(self, folder: Path, age: int = 0) -> Path:
        """Write the files of the commit, and nothing else, into a new folder. They are `age` seconds older."""
        folder.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "archive", "--format=tar", self.commit], cwd=self.root, capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        for path in folder.rglob("*"):
            os.utime(path, (self.seconds - age,) * 2, follow_symlinks=False)
        return folder


def read(root: Path) -> Source:
    """The commit of a checkout. Raises ReleaseError if a file differs from it, or is not in it."""
    dirty = run("git", "status", "--porcelain", "--untracked-files=all", cwd=root).splitlines()
    if dirty:
        more = f"\n  and {len(dirty) - 10} more" if len(dirty) > 10 else ""
        files = "".join(f"\n  {line}" for line in dirty[:10])
        raise ReleaseError(f"the tree differs from its commit. Commit or remove these files:{files}{more}")
    commit, seconds = run("git", "log", "-1", "--format=%H %ct", cwd=root).split()
    tags = tuple(run("git", "tag", "--points-at", "HEAD", cwd=root).split())
    return Source(root, commit, int(seconds), tags)
