"""Has Go fetch the sources of binaries, and compile them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

from hack.controlplane.modules import COMPILER_FLAGS, BinariesError, Module
from hack.controlplane.progress import Piece

__all__ = ["build", "check_go", "fetch"]

SAID_LINES: Final = 40
"""How much of what Go said is in the message when it fails."""
PACKAGE_WEIGHT: Final = 10_000
"""What a package takes beside its source, in bytes of source."""
DEPENDENCY_WEIGHT: Final = 270
"""What it takes for each package that it depends on: most packages are small, and Go reads much for them. Measured on
kube-apiserver."""
LINK_WEIGHT: Final = 4_000_000
"""What it takes to link a binary."""
LISTED: Final = "\t".join(
    (
        "{{.ImportPath}}",
        "{{.Dir}}",
        "{{with .Module}}{{.Version}}{{end}}",
        "{{.Stale}}",
        "{{len .Deps}}",
        '{{join .GoFiles "/"}}',
    )
)
"""A package that must be compiled is stale."""
MEMORY: Final = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
"""For Go's compiler and linker: no garbage is collected below this limit. It saves an eighth of the CPU
time (measured on etcd)."""


def check_go(modules: Collection[Module], names: Collection[str]) -> None:
    """Raises BinariesError unless there is a new enough Go."""
    needed = max(module.go for module in modules)
    text = ".".join(str(part) for part in needed)
    what = (
        f"{', '.join(names)} must be built (or put into KUBEBUILDER_ASSETS), which needs Go {text} or newer"
    )
    if shutil.which("go") is None:
        raise BinariesError(f"{what}: there is no go on the PATH")
    answer = _go(["env", "GOVERSION"], next(iter(modules)).directory).strip()
    match = re.match(r"go(\d+(?:\.\d+)*)", answer)
    if match is None or tuple(int(part) for part in match[1].split(".")) < needed:
        raise BinariesError(f"{what}: this is {answer or 'an unknown version'}")


def fetch(module: Module, names: Collection[str]) -> list[Piece]:
    """Fetch the sources of these binaries. Returns what there is to compile: what Go's cache does not have."""
    packages = [module.packages[name] for name in names]
    listed = _go(["list", "-deps", "-f", LISTED, *_flags(module), *packages], module.directory)
    pieces = [piece for line in listed.splitlines() if (piece := _piece(*line.split("\t"))) is not None]
    return pieces + [Piece(f"link {name}", module.version, LINK_WEIGHT, linked=True) for name in names]


def build(module: Module, names: Sequence[str], folder: Path, started: Callable[[str], None]) -> None:
    """Build these binaries into a folder by one command, so that Go always has enough to compile at the same time.

    `started` gets the path of each package when Go begins to compile it. Go writes beside the final path, and the
    binaries are then renamed, so no process ever sees half of one. Raises BinariesError.
    """
    for left_over in filter(Path.is_dir, folder.iterdir()):
        shutil.rmtree(left_over)  # a builder that was killed has left it; we hold the lock
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        output = Path(scratch) / names[0] if len(names) == 1 else Path(scratch)
        packages = [module.packages[name] for name in names]
        command: list[str | Path] = ["go", "build", "-v", *_flags(module), "-o", output, *packages]
        said: deque[str] = deque(maxlen=SAID_LINES)
        with subprocess.Popen(
            command, cwd=module.directory, env=_environment(), stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                for line in process.stderr or ():
                    said.append(line)
                    started(line.strip())
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise BinariesError(f"building {', '.join(names)} failed:\n{''.join(said)}")
        for name in names:
            (Path(scratch) / name).rename(folder / name)


def _flags(module: Module) -> list[str]:
    return ["-trimpath", "-buildvcs=false", f"-gcflags={COMPILER_FLAGS}", f"-ldflags={module.linker_flags}"]


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"GOOS", "GOARCH", "GOBIN"}}
    return MEMORY | kept | {"CGO_ENABLED": "0", "GOWORK": "off"}


def _go(arguments: list[str], directory: Path) -> str:
    result = subprocess.run(
        ["go", *arguments], cwd=directory, env=_environment(), capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise BinariesError(f"go {' '.join(arguments[:2])} failed in {directory}:\n{result.stderr[-4000:]}")
    return result.stdout


def _piece(path: str, folder: str, version: str, stale: str, dependencies: str, files: str) -> Piece | None:
    if stale != "true":
        return None
    source = sum((Path(folder) / name).stat().st_size for name in files.split("/") if name)
    return Piece(path, version, PACKAGE_WEIGHT + source + DEPENDENCY_WEIGHT * int(dependencies))
