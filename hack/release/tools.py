"""The environment with the programs of a release: it is outside of the checkout, and kept for the same locks."""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path
from typing import Final

from hack.kept import kept
from hack.release.running import run

__all__ = ["RELEASE", "RUNTIME", "environment", "installed", "python_of"]

RUNTIME: Final = "requirements/runtime.txt"
RELEASE: Final = "requirements/release.txt"
DONE: Final = ".installed"


def environment(root: Path) -> Path:
    """The folder of the environment with all that a release needs: Node.js, PyInstaller, and what reprieve needs."""
    locks = [root / name for name in (RUNTIME, RELEASE, "requirements/web.txt")]
    folder = kept("release", [sys.version, *(lock.read_bytes() for lock in locks)])
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not (folder / DONE).is_file():
            installed(folder, *locks)
            (folder / DONE).touch()
    return folder


def installed(folder: Path, *locks: Path) -> Path:
    """A new environment with what is locked, by hash. Returns its Python. Raises ReleaseError."""
    run(sys.executable, "-m", "venv", "--clear", folder)
    python = python_of(folder)
    named = [part for lock in locks for part in ("-r", lock)]
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--require-hashes", "--only-binary", ":all:", *named)
    return python


def python_of(folder: Path) -> Path:
    """The Python of an environment."""
    return folder / "bin" / "python"
