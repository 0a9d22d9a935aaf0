"""The Go modules that the binaries are built from. The files hack/binaries/*/go.mod name their versions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = [
    "BINARIES",
    "COMPILER_FLAGS",
    "ETCD",
    "EVICT",
    "FIDELITY",
    "HELM",
    "KREW",
    "KUBERNETES",
    "KUSTOMIZE",
    "KWOK",
    "NEXT",
    "PARSERS",
    "PLANE",
    "PROMETHEUS",
    "SOURCES",
    "VERSIONS",
    "BinariesError",
    "Module",
    "sources",
]

MODULES: Final = Path(__file__).resolve().parent.parent / "binaries"
COMPILER_FLAGS: Final = "all=-dwarf=false"
"""The linker would drop what debuggers read; not to make it saves a tenth of the CPU time (measured on etcd)."""


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
        """The required version, such as v1.37.2."""
        match = re.search(
            rf"^\s*(?:require )?{re.escape(self.path)} (v\S+)", self._text("go.mod"), re.MULTILINE
        )
        if match is None:
            raise BinariesError(f"{self.directory / 'go.mod'} does not require {self.path}")
        return match[1]

    @property
    def minor(self) -> str:
        """The required minor version, such as 1.37."""
        return ".".join(self.version.removeprefix("v").split(".")[:2])

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
            COMPILER_FLAGS,
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
SERVERS: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""What is built for each version of Kubernetes."""


def _kubernetes(folder: str, *names: str) -> Module:
    return Module(
        folder=folder,
        path="k8s.io/kubernetes",
        packages={name: f"k8s.io/kubernetes/cmd/{name}" for name in names},
        version_flags=(
            "k8s.io/component-base/version.gitVersion={version}",
            "k8s.io/component-base/version.gitMajor={major}",
            "k8s.io/component-base/version.gitMinor={minor}",
        ),
        exact=True,
    )


KUBERNETES: Final = _kubernetes("kubernetes", *SERVERS, "kubectl")
"""The default version. Only it has a kubectl."""
NEXT: Final = "next"
"""Stands for the minor version that is not out yet, in the newest form that can be built."""
VERSIONS: Final[Mapping[str, Module]] = {
    **{minor: _kubernetes(f"kubernetes-{minor}", *SERVERS) for minor in ("1.34", "1.35", "1.36")},
    "1.37": KUBERNETES,
    NEXT: _kubernetes(f"kubernetes-{NEXT}", *SERVERS),
}
"""By minor version, oldest first: what its servers are built from."""
KUSTOMIZE: Final = Module(
    folder="kustomize",
    path="sigs.k8s.io/kustomize/kustomize/v5",
    packages={"kustomize": "."},
    version_flags=(),
    exact=True,
    sources=("main.go",),
)
"""What `kubectl kustomize` runs, without the rest of kubectl, which takes eight times as long to compile."""
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
EVICT: Final = Module(
    folder="evict",
    path="k8s.io/client-go",
    packages={"evict": "."},
    version_flags=(),
    exact=True,
    sources=("main.go",),
)
"""The bench compares evictions with this one (`bench.floor`). No control plane needs it."""
PROMETHEUS: Final = Module(
    folder="prometheus",
    path="github.com/prometheus/prometheus",
    packages={"promtool": "github.com/prometheus/prometheus/cmd/promtool"},
    version_flags=(),
    exact=False,
)
"""`make alerts` asks it what the alerts do. No control plane needs it."""
HELM: Final = Module(
    folder="helm",
    path="helm.sh/helm/v3",
    packages={"helm": "helm.sh/helm/v3/cmd/helm"},
    version_flags=(
        "helm.sh/helm/v3/internal/version.version={version}",
        *(
            f"helm.sh/helm/v3/pkg/{package}.k8sVersion{part}"
            for package in ("chartutil", "lint/rules")
            for part in ("Major=1", "Minor=37")
        ),
    ),
    exact=False,
)
"""The tests of charts/ run it. Its own Makefile sets the same flags: the version of its k8s.io modules."""
KREW: Final = Module(
    folder="krew",
    path="sigs.k8s.io/krew",
    packages={"krew": "sigs.k8s.io/krew/cmd/krew"},
    version_flags=(),
    exact=True,
)
"""`make release` installs kubectl's plugin with this one. No control plane needs it."""
CONTROL_PLANE: Final = (ETCD, KWOK, KUBERNETES)
OTHERS: Final = (KUSTOMIZE, HELM, PARSERS, FIDELITY, EVICT, PROMETHEUS, KREW)
SOURCES: Final = {name: module for module in (*CONTROL_PLANE, *OTHERS) for name in module.packages}
BINARIES: Final = tuple(name for module in CONTROL_PLANE for name in module.packages)
PLANE: Final = tuple(name for name in BINARIES if name != "kubectl")
"""The processes of a control plane."""


def sources(version: str = "") -> Mapping[str, Module]:
    """By binary: what it is built from. The servers are those of a version in `VERSIONS`; "" is the default.
    Raises BinariesError if there is no such version."""
    if not version:
        return SOURCES
    if version not in VERSIONS:
        raise BinariesError(f"there is no Kubernetes {version} in {MODULES} (only {', '.join(VERSIONS)})")
    return {**SOURCES, **dict.fromkeys(SERVERS, VERSIONS[version])}
