"""Where the control plane's binaries are taken from, without building any."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from hack.controlplane import binaries as subject
from hack.controlplane import modules
from hack.controlplane.binaries import BinariesError, binaries
from hack.controlplane.modules import (
    BINARIES,
    ETCD,
    EVICT,
    FIDELITY,
    HELM,
    KREW,
    KUBERNETES,
    KUSTOMIZE,
    KWOK,
    PARSERS,
    PLANE,
    PROMETHEUS,
    SERVERS,
    SOURCES,
    VERSIONS,
    Module,
)
from hack.demo import __main__ as demo


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, no assets, and a PATH with nothing but what a test puts there."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return tmp_path


def put(path: Path, says: str) -> Path:
    """A program that prints something."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("etcd", "etcd Version: 3.6.16"),
        ("etcd", "etcd Version: 3.6.4"),
        ("kwok", "kwok version v0.8.0 go1.26.8 (linux/amd64)"),
        ("kube-apiserver", "Kubernetes v1.37.2"),
        ("kubectl", "Client Version: v1.37.2"),
    ],
)
def test_an_asset_of_the_right_version_is_used(
    nothing_around: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(nothing_around / "assets"))
    path = put(nothing_around / "assets" / name, says)
    assert binaries([name]) == {name: path}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("etcd", "etcd Version: 3.5.21"),
        ("kwok", "kwok version v0.7.0 go1.26.8 (linux/amd64)"),
        ("kube-apiserver", "Kubernetes v1.37.0"),
        ("kube-apiserver", "Kubernetes v1.37.2-rc.0"),
        ("kube-apiserver", "something else"),
    ],
)
def test_an_asset_of_another_version_is_not(
    nothing_around: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(nothing_around / "assets"))
    put(nothing_around / "assets" / name, says)
    with pytest.raises(BinariesError, match=f"{name} must be built"):
        binaries([name])


def test_what_was_built_is_found_again_without_go() -> None:
    path = subject.cache_root() / ETCD.key(subject._platform()) / "etcd"
    put(path, "")
    assert binaries(["etcd"]) == {"etcd": path}


def test_without_go_the_message_says_what_is_needed() -> None:
    message = r"etcd, kwok must be built .* Go 1\.26\.0 or newer: there is no go on the PATH"
    with pytest.raises(BinariesError, match=message):
        binaries(["etcd", "kwok"])


def test_a_go_that_is_too_old_is_refused(nothing_around: Path) -> None:
    put(nothing_around / "bin" / "go", "go1.24.3")
    with pytest.raises(BinariesError, match=r"needs Go 1\.26\.0 or newer: this is go1\.24\.3"):
        binaries(["etcd"])


GO = """#!/bin/sh
case "$1" in
env) echo go1.26.8 ;;
list) printf 'a\\t/\\t\\ttrue\\t0\\t\\nb\\t/\\t\\tfalse\\t0\\t\\n' ;;
build)
  echo build >> "{log}"
  while [ "$1" != -o ]; do shift; done
  [ -n "$FAIL" ] && echo "b.go:1: wrong" >&2 && exit 1
  out=$2; shift 2
  echo a >&2
  for package in "$@"; do
    if [ -d "$out" ]; then file="$out/${package##*/}"; else file=$out; fi
    echo "$CGO_ENABLED $GOWORK $package" > "$file"
  done
esac
"""


@pytest.fixture
def go_log(nothing_around: Path) -> Path:
    """A go that makes a file of its arguments; its builds are logged."""
    log = nothing_around / "log"
    put(nothing_around / "bin" / "go", "").write_text(GO.replace("{log}", str(log)))
    return log


def test_a_missing_binary_is_built_once(go_log: Path) -> None:
    path = binaries(["etcd"])["etcd"]
    assert path.read_text() == "0 off go.etcd.io/etcd/server/v3\n"
    assert binaries(["etcd"])["etcd"] == path
    assert go_log.read_text() == "build\n"


def test_binaries_of_one_module_are_built_by_one_command(go_log: Path) -> None:
    names = [name for name, module in SOURCES.items() if module is KUBERNETES]
    assert len(names) > 1
    found = binaries(names)
    assert {name: path.read_text().split()[-1] for name, path in found.items()} == KUBERNETES.packages
    assert go_log.read_text() == "build\n"


def test_only_what_is_asked_for_is_built(go_log: Path) -> None:
    folder = binaries(["kube-scheduler"])["kube-scheduler"].parent
    assert [path.name for path in folder.iterdir()] == ["kube-scheduler"]
    binaries(["kube-scheduler", "kubectl"])
    assert sorted(path.name for path in folder.iterdir()) == ["kube-scheduler", "kubectl"]
    assert go_log.read_text() == "build\nbuild\n"


def test_go_names_the_binaries_of_one_command_as_we_do() -> None:
    several = [module for module in {*SOURCES.values(), *VERSIONS.values()} if len(module.packages) > 1]
    assert len(several) == len(VERSIONS)
    for module in several:
        assert {package.rpartition("/")[2] for package in module.packages.values()} == set(module.packages)


def test_two_builders_build_once(go_log: Path) -> None:
    script = "from hack.controlplane.binaries import binaries; print(binaries(['kwok'])['kwok'])"
    root = str(Path(subject.__file__).parents[2])
    both = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": root},
        )
        for _ in range(2)
    ]
    first, second = (process.communicate()[0].strip() for process in both)
    assert first == second
    assert Path(first).is_file()
    assert go_log.read_text() == "build\n"


def test_a_build_that_fails_says_why_and_leaves_nothing(
    go_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIL", "1")
    with pytest.raises(BinariesError, match=r"building etcd failed:\nb\.go:1: wrong"):
        binaries(["etcd"])
    assert [
        path for path in subject.cache_root().rglob("*") if path.is_file() and path.suffix != ".lock"
    ] == []


@pytest.mark.parametrize(
    "module",
    [ETCD, EVICT, HELM, KREW, KWOK, KUSTOMIZE, PARSERS, PROMETHEUS, *VERSIONS.values()],
    ids=lambda module: module.folder,
)
def test_the_cache_key_follows_platform_and_version(module: Module) -> None:
    assert module.key("linux/amd64") != module.key("linux/arm64")
    assert module.key("linux/amd64").startswith(f"{module.folder}-{module.version}-")


def test_the_versions_are_those_that_are_promised() -> None:
    assert KUBERNETES.version == "v1.37.2"
    assert [module.version for module in VERSIONS.values()] == [
        "v1.34.4",
        "v1.35.4",
        "v1.36.3",
        "v1.37.2",
        "v1.38.0-alpha.0",
    ]
    assert ETCD.version.startswith("v3.6.")
    assert KWOK.version.startswith("v0.8.")


def test_the_cache_key_follows_the_source_that_is_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = PARSERS.key("linux/amd64")
    assert replace(PARSERS, sources=()).key("linux/amd64") != before
    shutil.copytree(PARSERS.directory, tmp_path / "parsers")
    monkeypatch.setattr(modules, "MODULES", tmp_path)
    assert PARSERS.key("linux/amd64") == before
    with (tmp_path / "parsers" / "main.go").open("a") as source:
        source.write("// another\n")
    assert PARSERS.key("linux/amd64") != before


def test_a_control_plane_needs_no_parsers_of_the_same_version() -> None:
    assert "parsers" not in BINARIES
    assert f"k8s.io/apimachinery {PARSERS.version}\n" in (KUBERNETES.directory / "go.mod").read_text()


def test_a_control_plane_needs_no_bare_client_of_the_same_version() -> None:
    assert "evict" not in BINARIES
    assert f"k8s.io/client-go {EVICT.version}\n" in (FIDELITY.directory / "go.mod").read_text()


def test_helm_says_of_which_kubernetes_its_modules_are() -> None:
    required = (HELM.directory / "go.mod").read_text()
    (minor,) = re.findall(r"\tk8s\.io/client-go v0\.(\d+)\.", required)
    for package in ("chartutil", "lint/rules"):
        assert f"-X helm.sh/helm/v3/pkg/{package}.k8sVersionMinor={minor}" in HELM.linker_flags
    assert HELM.linker_flags.count("k8sVersionMajor=1") == 2


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a control plane asks to be built. The build fails."""
    names: list[str] = []

    def build(missing: Mapping[str, Module]) -> dict[str, Path]:
        names.extend(missing)
        raise BinariesError("not in this test")

    monkeypatch.setattr(subject, "_build", build)
    return names


def test_the_demo_builds_what_its_control_planes_run_and_no_kubectl(asked: list[str]) -> None:
    with pytest.raises(BinariesError, match="not in this test"):
        demo.live(Console(file=io.StringIO()))
    processes = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
    assert set(asked) == processes | {"kustomize"}


def test_the_demo_builds_no_kustomize_if_there_is_a_kubectl(
    asked: list[str], nothing_around: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(nothing_around / "assets"))
    put(nothing_around / "assets" / "kubectl", f"Client Version: {KUBERNETES.version}")
    with pytest.raises(BinariesError, match="not in this test"):
        demo.live(Console(file=io.StringIO()))
    assert not set(asked) & {"kubectl", "kustomize"}
    assert "kube-apiserver" in asked


def test_make_binaries_builds_everything_that_tests_need(asked: list[str]) -> None:
    assert subject.main() == 1
    assert set(asked) == {*ETCD.packages, *KWOK.packages, *KUBERNETES.packages, *HELM.packages}


def test_the_cache_key_follows_the_flags_of_compiler_and_linker(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {KUBERNETES.key("linux/amd64")}
    monkeypatch.setattr(modules, "COMPILER_FLAGS", "")
    keys.add(KUBERNETES.key("linux/amd64"))
    keys.add(replace(KUBERNETES, version_flags=()).key("linux/amd64"))
    assert len(keys) == 3


@pytest.mark.parametrize("module", [KWOK, KUSTOMIZE], ids=lambda module: module.folder)
def test_what_kubernetes_requires_as_well_is_compiled_once(module: Module) -> None:
    """Another version of a module would be compiled beside that of Kubernetes."""
    ours, kubernetes = requirements(module), requirements(KUBERNETES)
    shared = ours.keys() & kubernetes.keys() - NEWER[module.folder]
    assert len(shared) > 10
    assert {path: ours[path] for path in shared} == {path: kubernetes[path] for path in shared}


def requirements(module: Module) -> dict[str, str]:
    """The versions of the modules that go.mod requires or puts in their place."""
    text = (module.directory / "go.mod").read_text()
    required = re.findall(r"^\s+(?:\S+ => )?(\S+) (v\S+)", text, re.MULTILINE)
    return dict(required)


NEWER: Final = {"kwok": {"github.com/go-errors/errors"}, "kustomize": set[str]()}
"""Modules that these require newer than Kubernetes does."""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_has_its_own_servers_and_shares_all_else(go_log: Path, version: str) -> None:
    usual, found = binaries(PLANE), binaries(PLANE, version)
    folders = {name: path.parent.name for name, path in found.items()}
    module = VERSIONS[version]
    assert {name for name in PLANE if folders[name].startswith(f"{module.folder}-{module.version}-")} == set(
        SERVERS
    )
    assert {name: found[name] for name in ("etcd", "kwok")} == {
        name: usual[name] for name in ("etcd", "kwok")
    }
    assert (found == usual) is (module is KUBERNETES)


def test_only_the_servers_of_an_older_version_are_built(go_log: Path) -> None:
    found = binaries([*SERVERS, "kubectl"], "1.36")
    assert found["kubectl"].parent.name.startswith("kubernetes-v1.37.2-")
    assert sorted(path.name for path in found["kube-scheduler"].parent.iterdir()) == sorted(SERVERS)
    assert set(VERSIONS["1.36"].packages) == set(SERVERS)


def test_an_asset_serves_the_version_that_it_has(
    nothing_around: Path, go_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(nothing_around / "assets"))
    asset = put(nothing_around / "assets" / "kube-scheduler", f"Kubernetes {VERSIONS['1.36'].version}")
    picked = {version: binaries(["kube-scheduler"], version)["kube-scheduler"] for version in ("", *VERSIONS)}
    assert [version for version, path in picked.items() if path == asset] == ["1.36"]


def test_a_version_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(
        BinariesError, match=r"no Kubernetes 1\.33 .* \(only 1\.34, 1\.35, 1\.36, 1\.37, next\)"
    ):
        binaries(["etcd"], "1.33")


def test_the_binaries_of_several_versions_are_printed(
    go_log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert subject.main(["1.35", "1.36"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("etcd ") for line in lines) == 1
    folders = [Path(line.split()[1]).parent.name for line in lines if line.startswith("kube-scheduler ")]
    assert [name.rpartition("-")[0] for name in folders] == [
        "kubernetes-1.35-v1.35.4",
        "kubernetes-1.36-v1.36.3",
    ]


OLDER: Final = (
    "cli-runtime",
    "code-generator",
    "cri-streaming",
    "kube-proxy",
    "sample-apiserver",
    "sample-cli-plugin",
    "sample-controller",
)
LACKING: Final = {"kubernetes-next": {f"k8s.io/{name}": "37.2" for name in OLDER}}
"""By folder: what Go's proxy does not have in that version, with the version in its place. Of these, only kube-proxy's
configuration is compiled, for the API server's document of its types."""


@pytest.mark.parametrize("module", VERSIONS.values(), ids=lambda module: module.folder)
def test_all_parts_of_kubernetes_have_the_same_version(module: Module) -> None:
    """Kubernetes asks for v0.0.0 of what it publishes from its own repository. go.mod says which one is meant."""
    text = (module.directory / "go.mod").read_text()
    replaced = re.findall(r"^\t(k8s\.io/\S+) => (k8s\.io/\S+) v0\.(\S+)$", text, re.MULTILINE)
    assert len(replaced) > 30
    minor = module.version.removeprefix("v1.")
    assert [each for each in replaced if each[0] != each[1] or each[2] != minor] == [
        (name, name, version) for name, version in LACKING.get(module.folder, {}).items()
    ]
    asked = set(re.findall(r"^\t(k8s\.io/\S+) v0\.0\.0 ", text, re.MULTILINE))
    assert asked <= {name for name, _, _ in replaced}
