"""Run mypy, with what it has found out before in any checkout of this machine: `python -m hack.typecheck`.

mypy compares the content of each file with what it knows of it. So a former run may have been about other contents.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Final

from hack.kept import keep, kept

__all__ = ["checked", "main"]

ROOT: Final = Path(__file__).resolve().parents[1]
CACHE: Final = ".mypy_cache"


def checked(root: Path, command: list[str]) -> int:
    """Run the command in the checkout. Returns its exit status. What it knows is kept if it finds no fault."""
    cache = root / CACHE
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["mypy"]
    folder = kept("mypy", (metadata.version("mypy"), sys.version, str(settings)))
    if folder.is_dir() and not cache.is_dir():
        shutil.copytree(folder, cache)
    status = subprocess.run(command, cwd=root, check=False).returncode
    if status == 0:
        keep(folder, cache, [path for path in cache.rglob("*") if path.is_file()])
    return status


def main() -> int:
    """Returns mypy's exit status."""
    return checked(ROOT, [sys.executable, "-m", "mypy"])


if __name__ == "__main__":
    sys.exit(main())
