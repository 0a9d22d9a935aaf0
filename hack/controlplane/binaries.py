"""Finds the binaries of the control plane in KUBEBUILDER_ASSETS or the cache, or builds them from Go modules.

The files hack/binaries/*/go.mod name the modules and their versions. Each version has its own folder in the cache.
`python -m hack.controlplane.binaries` builds what is missing, also helm, and prints the path of each binary. Its
arguments are minor versions of Kubernetes, such as 1.36: they are built instead of the default.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from rich.console import Console

from hack.controlplane.building import build, check_go, fetch
from hack.controlplane.modules import BINARIES, HELM, PLANE, BinariesError, Module, sources
from hack.controlplane.progress import Piece, Work, shown

__all__ = ["BINARIES", "BinariesError", "binaries", "cache_root", "renderer"]


def cache_root() -> Path:
    """The folder of built binaries, outside the checkout."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "reprieve" / "binaries"


def binaries(names: Iterable[str] = BINARIES, version: str = "") -> dict[str, Path]:
    """The path of each binary. Missing ones are built. `version` is a minor version of Kubernetes; "" is the default.

    Raises BinariesError.
    """
    modules = sources(version)
    wanted = {name: modules[name] for name in names}
    found = {name: path for name, module in wanted.items() if (path := _found(name, module)) is not None}
    missing = {name: module for name, module in wanted.items() if name not in found}
    if missing:
        found |= _build(missing)
    return {name: found[name] for name in wanted}


def renderer() -> str:
    """Which binary renders kustomizations: kubectl if it is there. If not, kustomize: it is built sooner."""
    return "kubectl" if _found("kubectl", sources()["kubectl"]) is not None else "kustomize"


def _found(name: str, module: Module) -> Path | None:
    return _asset(name, module) or _cached(name, module)


def _asset(name: str, module: Module) -> Path | None:
    """The binary in KUBEBUILDER_ASSETS (envtest's convention) if it has the right version, otherwise None."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        return None
    path = Path(folder) / name
    return path if os.access(path, os.X_OK) and _version_fits(_reported_version(path), module) else None


@cache
def _reported_version(path: Path) -> str:
    """The version that the binary reports, such as 1.37.2; "" if it reports none."""
    arguments = ["version", "--client"] if path.name == "kubectl" else ["--version"]
    try:
        answer = subprocess.run(
            [path, *arguments], capture_output=True, text=True, timeout=60, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    match = re.search(r"(?:[Vv]ersion:?|Kubernetes) v?(\d+\.\d+\.\d+\S*)", answer)
    return match[1] if match else ""


def _version_fits(reported: str, module: Module) -> bool:
    required = module.version.removeprefix("v")
    return reported == required or (not module.exact and reported.split(".")[:2] == required.split(".")[:2])


def _cached(name: str, module: Module) -> Path | None:
    path = cache_root() / module.key(_platform()) / name
    return path if path.is_file() else None


@cache
def _platform() -> str:
    """GOOS/GOARCH of this machine. It comes from the kernel, so that built binaries are found without Go."""
    machine = os.uname()
    architectures = {"x86_64": "amd64", "aarch64": "arm64"}
    return f"{machine.sysname.lower()}/{architectures.get(machine.machine, machine.machine)}"


def _build(wanted: Mapping[str, Module]) -> dict[str, Path]:
    """Build what another process has not built in the meantime."""
    by_module: dict[Module, list[str]] = {}
    for name, module in wanted.items():
        by_module.setdefault(module, []).append(name)
    check_go(by_module, wanted)
    console = Console(stderr=True)
    versions = ", ".join(f"{name} {module.version}" for name, module in wanted.items())
    console.print(f"building {versions} into {cache_root()}", highlight=False, soft_wrap=True)
    work = Work(os.cpu_count() or 1)
    # One thread fetches what is compiled next, while this one compiles.
    with shown(console, work), ThreadPoolExecutor(max_workers=1) as fetching:
        fetched = {module: fetching.submit(_fetch, work, module, by_module[module]) for module in by_module}
        fetching.submit(setattr, work, "complete", True)
        try:
            return {
                name: path
                for module, pieces in fetched.items()
                for name, path in _build_module(module, by_module[module], work, pieces).items()
            }
        finally:
            fetching.shutdown(cancel_futures=True)


def _fetch(work: Work, module: Module, names: Sequence[str]) -> list[Piece]:
    pieces = fetch(module, names)
    work.expect(pieces)
    return pieces


def _build_module(
    module: Module, names: Sequence[str], work: Work, fetched: Future[list[Piece]]
) -> dict[str, Path]:
    folder = cache_root() / module.key(_platform())
    folder.mkdir(parents=True, exist_ok=True)
    work.doing = f"fetching the sources of {module.folder}"
    pieces = fetched.result()
    work.doing = f"waiting for another process that builds {module.folder}"
    with _locked(folder.parent / f"{folder.name}.lock"):
        work.doing = f"compiling {module.folder}"
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            with work.building(pieces):
                build(module, missing, folder, work.started)
        else:
            work.forget(pieces)
    return {name: folder / name for name in names}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Allow one builder at a time on this machine."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(versions: Sequence[str] = ()) -> int:
    """Build what is missing, and print the path of each binary."""
    try:
        found = [binaries(PLANE, version) for version in versions] or [binaries((*BINARIES, *HELM.packages))]
    except BinariesError as error:
        print(error, file=sys.stderr)
        return 1
    for name, path in dict.fromkeys(item for each in found for item in each.items()):
        print(f"{name:24} {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
