"""Kernels are compiled once for the same sources, compiler and flags."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from setuptools import Distribution

from hack import kernels
from hack.kept import keep

MODULES = ("native/nodes/_a", "schema/_b")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with two kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return checkout(tmp_path / "one")


def checkout(root: Path) -> Path:
    (root / "native" / "nodes").mkdir(parents=True)
    (root / "schema").mkdir()
    (root / "pyproject.toml").write_text('[tool.setuptools]\next-modules = []\n[tool.other]\nname = "x"\n')
    for name in (*(f"{module}.pyx" for module in MODULES), "native/nodes/_a.pxd"):
        (root / name).write_text(f"# {name}")
    return root


def compile_all(root: Path) -> None:
    for module in MODULES:
        (root / f"{module}.cpython-311.so").write_text(f"code of {module}")


def test_a_fresh_clone_finds_what_another_checkout_has_compiled(root: Path, tmp_path: Path) -> None:
    compile_all(root)
    keep(kernels.home(root), root, kernels.compiled(root))
    fresh = checkout(tmp_path / "two")
    assert kernels.found(fresh)
    before, after = kernels.compiled(root), kernels.compiled(fresh)
    assert [path.relative_to(fresh) for path in after] == [path.relative_to(root) for path in before]
    assert [path.read_text() for path in after] == [f"code of {module}" for module in MODULES]


@pytest.mark.parametrize("name", ["native/nodes/_a.pyx", "native/nodes/_a.pxd", "schema/_b.pyx", "more"])
def test_they_are_not_found_for_other_sources(root: Path, tmp_path: Path, name: str) -> None:
    compile_all(root)
    keep(kernels.home(root), root, kernels.compiled(root))
    fresh = checkout(tmp_path / "two")
    (fresh / ("native/_more.pxd" if name == "more" else name)).write_text("another")
    assert not kernels.found(fresh)
    assert kernels.compiled(fresh) == []


def test_nor_for_other_flags_or_modules(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = {kernels.home(root)}
    text = (root / "pyproject.toml").read_text()
    (root / "pyproject.toml").write_text(text.replace('"x"', '"y"'))
    assert {kernels.home(root)} == homes, "it says nothing of kernels"
    (root / "pyproject.toml").write_text(text.replace("[]", '[{ name = "native.nodes._a" }]'))
    homes.add(kernels.home(root))
    monkeypatch.setenv("CFLAGS", "-O0")
    homes.add(kernels.home(root))
    monkeypatch.setenv("CC", shutil.which("true") or "true")
    homes.add(kernels.home(root))
    assert len(homes) == 4


@pytest.mark.filterwarnings("ignore::UserWarning")  # it says that ext-modules is experimental
def test_the_installation_without_kernels_has_all_else() -> None:
    whole, without = Distribution(), kernels.WithoutKernels()
    for each in (whole, without):
        each.parse_config_files([str(kernels.ROOT / "pyproject.toml")])
    assert whole.ext_modules
    assert not without.ext_modules
    assert without.metadata.name == whole.metadata.name == "reprieve"
    assert without.entry_points == whole.entry_points
