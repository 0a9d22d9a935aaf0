"""Stands in for the bases of the image where no registry of images can be reached: two small Debians.

debootstrap makes them from the packages of Debian's mirror. They are kept, and are part of no release.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from hack.kept import keep, kept
from hack.release.image import Store, missing
from hack.release.running import run

__all__ = ["bases", "needed"]

SUITE: Final = "bookworm"
"""Its Python is 3.11."""
RUN: Final = ("python3", "python-is-python3")
BUILD: Final = (*RUN, "python3-venv", "python3-dev", "gcc", "libc6-dev")
INCLUDED: Final = {"BUILD_BASE": BUILD, "RUN_BASE": RUN}
LEFT_OUT: Final = (
    "./proc/*",
    "./sys/*",
    "./dev/*",
    "./var/cache/apt/*",
    "./var/lib/apt/lists/*",
    "./var/log/*",
)


def needed() -> list[str]:
    """What this machine lacks to make them, and to build an image of them; empty if nothing."""
    lacks = missing("buildah", "debootstrap", "unshare", "setpriv", "chroot")
    return lacks if os.geteuid() == 0 else [*lacks, "root"]


def bases(store: Store, seconds: int) -> dict[str, str]:
    """Both bases by the names of build arguments, in the store."""
    return {
        name: store.add(_archive(name, packages), f"reprieve-{name.lower().replace('_', '-')}", seconds)
        for name, packages in INCLUDED.items()
    }


def _archive(name: str, packages: tuple[str, ...]) -> Path:
    folder = kept("bases", [SUITE, *packages, *LEFT_OUT])
    archive = folder / f"{name}.tar"
    if not archive.is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            root, made = Path(scratch, "root"), Path(scratch, archive.name)
            run("debootstrap", "--variant=minbase", f"--include={','.join(packages)}", SUITE, root)
            left_out = [f"--exclude={pattern}" for pattern in LEFT_OUT]
            run("tar", "--create", "--file", made, "--directory", root, "--numeric-owner", *left_out, ".")
            shutil.rmtree(root)
            keep(folder, made.parent, [made])
    return archive
