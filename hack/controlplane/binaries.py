"""Finds the binaries of the control plane in KUBEBUILDER_ASSETS or the cache, or builds them from Go modules.

The files hack/binaries/*/go.mod name the modules and their versions. Each version has its own folder in the cache.
`python -m hack.controlplane.binaries` builds what is missing, and prints the path of each binary.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

__all__ = ["BINARIES", "BinariesError", "binaries", "cache_root"]

MODULES: Final = Path(__file__).resolve().parent.parent / "binaries"

Step = Callable[[int, int], None]
"""Gets the number of packages that are compiled, and the number of all packages."""


class BinariesError(Exception):
    """A binary can be neither found nor built. The message says what to do."""


@dataclass(frozen=True, eq=False)
class Module:
    """A go.mod of ours, and the commands that are built from its requirements."""

    folder: str
    path: str
    packages: Mapping[str, str]
    version_flags: tuple[str, ...]
    exact: bool
    """Whether a ready-made binary must have exactly this version. Otherwise the minor version must be the same."""
    sources: tuple[str, ...] = ()
    """Our own files beside go.mod that are built as well."""

    @property
    def directory(self) -> Path:
        return MODULES / self.folder

    @property
    def version(self) -> str:
        """The required version, such as v1.37.1."""
        match = re.search(
            rf"^\s*(?:require )?{re.escape(self.path)} (v\S+)", self._text("go.mod"), re.MULTILINE
        )
        if match is None:
            raise BinariesError(f"{self.directory / 'go.mod'} does not require {self.path}")
        return match[1]

    @property
    def go(self) -> tuple[int, ...]:
        """The Go version that go.mod requires."""
        match = re.search(r"^go ([\d.]+)$", self._text("go.mod"), re.MULTILINE)
        return tuple(int(part) for part in match[1].split(".")) if match else (1,)

    @property
    def linker_flags(self) -> str:
        """They strip the binary, and set the version that it reports."""
        major, minor, *_ = self.version.removeprefix("v").split(".")
        values = {"version": self.version, "major": major, "minor": minor}
        return " ".join(["-s", "-w", *(f"-X {flag.format_map(values)}" for flag in self.version_flags)])

    def key(self, platform: str) -> str:
        """A name in the cache. It changes with everything that goes into the build."""
        digest = hashlib.sha256()
        parts = [
            self._text("go.mod"),
            self._text("go.sum"),
            *map(self._text, self.sources),
            self.linker_flags,
            platform,
            *self.packages.values(),
        ]
        for part in parts:
            digest.update(part.encode())
            digest.update(b"\0")
        return f"{self.folder}-{self.version}-{digest.hexdigest()[:16]}"

    def _text(self, name: str) -> str:
        return (self.directory / name).read_text()


ETCD: Final = Module(
    folder="etcd",
    path="go.etcd.io/etcd/server/v3",
    packages={"etcd": "go.etcd.io/etcd/server/v3"},
    version_flags=(),
    exact=False,
)
KWOK: Final = Module(
    folder="kwok",
    path="sigs.k8s.io/kwok",
    packages={"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
    version_flags=(),
    exact=False,
)
KUBERNETES: Final = Module(
    folder="kubernetes",
    path="k8s.io/kubernetes",
    packages={
        name: f"k8s.io/kubernetes/cmd/{name}"
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
    },
    version_flags=(
        "k8s.io/component-base/version.gitVersion={version}",
        "k8s.io/component-base/version.gitMajor={major}",
        "k8s.io/component-base/version.gitMinor={minor}",
    ),
    exact=True,
)
PARSERS: Final = Module(
    folder="parsers",
    path="k8s.io/apimachinery",
    packages={"parsers": "."},
    version_flags=(),
    exact=True,
    sources=("main.go",),
)
"""Tests compare our parsers with this one. No control plane needs it."""
FIDELITY: Final = Module(
    folder="fidelity",
    path="k8s.io/kubernetes",
    packages={"fidelity": "."},
    version_flags=KUBERNETES.version_flags,
    exact=True,
    sources=("main.go", "informers.go"),
)
"""`hack.fidelity` compares our filters with this one. No control plane needs it."""
PROMETHEUS: Final = Module(
    folder="prometheus",
    path="github.com/prometheus/prometheus",
    packages={"promtool": "github.com/prometheus/prometheus/cmd/promtool"},
    version_flags=(),
    exact=False,
)
"""`make alerts` asks it what the alerts do. No control plane needs it."""
CONTROL_PLANE: Final = (ETCD, KWOK, KUBERNETES)
OTHERS: Final = (PARSERS, FIDELITY, PROMETHEUS)
SOURCES: Final = {name: module for module in (*CONTROL_PLANE, *OTHERS) for name in module.packages}
BINARIES: Final = tuple(name for module in CONTROL_PLANE for name in module.packages)


def cache_root() -> Path:
    """The folder of built binaries, outside the checkout."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "reprieve" / "binaries"


def binaries(names: Iterable[str] = BINARIES) -> dict[str, Path]:
    """The path of each binary. Missing ones are built. Raises BinariesError."""
    wanted = list(names)
    found = {name: path for name in wanted if (path := _asset(name) or _cached(name)) is not None}
    missing = [name for name in wanted if name not in found]
    if missing:
        found |= _build(missing)
    return {name: found[name] for name in wanted}


def _asset(name: str) -> Path | None:
    """The binary in KUBEBUILDER_ASSETS (envtest's convention) if it has the right version, otherwise None."""
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        return None
    path = Path(folder) / name
    module = SOURCES[name]
    return path if os.access(path, os.X_OK) and _version_fits(_reported_version(path), module) else None


@cache
def _reported_version(path: Path) -> str:
    """The version that the binary reports, such as 1.37.1; "" if it reports none."""
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


def _cached(name: str) -> Path | None:
    path = cache_root() / SOURCES[name].key(_platform()) / name
    return path if path.is_file() else None


@cache
def _platform() -> str:
    """GOOS/GOARCH of this machine. It comes from the kernel, so that built binaries are found without Go."""
    machine = os.uname()
    architectures = {"x86_64": "amd64", "aarch64": "arm64"}
    return f"{machine.sysname.lower()}/{architectures.get(machine.machine, machine.machine)}"


def _build(names: list[str]) -> dict[str, Path]:
    """Build what another process has not built in the meantime."""
    _check_go({SOURCES[name] for name in names}, names)
    built: dict[str, Path] = {}
    console = Console(stderr=True)
    with _progress(console) as progress:
        tasks = {
            name: progress.add_task(f"{name} {SOURCES[name].version}", total=None, start=False)
            for name in names
        }
        for name in names:
            folder = cache_root() / SOURCES[name].key(_platform())
            folder.mkdir(parents=True, exist_ok=True)
            with _locked(folder.parent / f"{folder.name}.lock"):
                progress.start_task(tasks[name])
                if not console.is_terminal:
                    console.print(f"building {name} {SOURCES[name].version}", highlight=False)
                if not (folder / name).is_file():
                    _build_one(name, folder, partial(_advance, progress, tasks[name]))
                progress.update(tasks[name], completed=1, total=1)
            built[name] = folder / name
    return built


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def _advance(progress: Progress, task: TaskID, done: int, total: int) -> None:
    progress.update(task, completed=done, total=total)


def _check_go(modules: set[Module], names: list[str]) -> None:
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


def _go_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"GOOS", "GOARCH", "GOBIN"}}
    return kept | {"CGO_ENABLED": "0", "GOWORK": "off"}


def _go(arguments: list[str], directory: Path) -> str:
    result = subprocess.run(
        ["go", *arguments], cwd=directory, env=_go_environment(), capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise BinariesError(f"go {' '.join(arguments[:2])} failed in {directory}:\n{result.stderr[-4000:]}")
    return result.stdout


def _build_one(name: str, folder: Path, step: Step) -> None:
    """Compile beside the final path, and then rename. So no process ever sees half a binary."""
    module = SOURCES[name]
    package = module.packages[name]
    total = len(_go(["list", "-deps", package], module.directory).split())
    for left_over in filter(Path.is_dir, folder.iterdir()):
        shutil.rmtree(left_over)  # a builder that was killed has left it; we hold the lock
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        target = Path(scratch) / name
        command = ["go", "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", module.linker_flags]
        said: list[str] = []
        with subprocess.Popen(
            [*command, "-o", target, package],
            cwd=module.directory,
            env=_go_environment(),
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                for line in process.stderr or ():
                    said.append(line)
                    step(min(len(said), total - 1), total)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise BinariesError(f"building {name} failed:\n{''.join(said[-40:])}")
        target.rename(folder / name)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Allow one builder at a time on this machine."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> int:
    """Build what is missing, and print the path of each binary."""
    try:
        paths = binaries()
    except BinariesError as error:
        print(error, file=sys.stderr)
        return 1
    for name, path in paths.items():
        print(f"{name:24} {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
