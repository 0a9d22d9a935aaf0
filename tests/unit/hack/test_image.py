"""What the image is built from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[3]
MADE = {".py", ".c", ".so", ".pyc"}
"""Endings of modules, and of what is made from the sources here."""
SOURCES_OF_PAGE = ("web", "app")
PAGE = ("web", "static")
"""Made from these sources. A test of its own asks for it."""


def test_every_package_is_let_into_the_image() -> None:
    """.dockerignore leaves out whatever it does not name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {
        name.partition(".")[0] for name in project["tool"]["setuptools"]["packages"]["find"]["include"]
    }
    let_in = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines()}
    assert packages <= let_in


def test_what_packages_read_is_in_the_wheel() -> None:
    """setuptools leaves out files that are no modules, but for package-data."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    data = tools["package-data"]
    roots = {name.partition(".")[0] for name in tools["packages"]["find"]["include"]}
    files = [
        path.relative_to(ROOT)
        for root in roots
        for path in (ROOT / root).rglob("*")
        if path.is_file() and path.suffix not in MADE
    ]
    assert Path("cli/report/page.html") in files
    left_out = [
        str(path)
        for path in files
        if path.parts[:2] != SOURCES_OF_PAGE
        and not any(fnmatch(path.name, each) for each in data.get(".".join(path.parent.parts), ()))
        and path.parts[:2] != PAGE
    ]
    assert left_out == []


WHEEL = """
import sys
from setuptools import setup
from hack.kernels import WithoutKernels
made, wheels = sys.argv[1:]
setup(distclass=WithoutKernels, script_args=[
    "--quiet", "egg_info", "--egg-base", made, "build", "--build-base", made, "bdist_wheel", "--dist-dir", wheels])
"""


def test_the_wheel_has_the_page_and_not_its_sources(tmp_path: Path) -> None:
    """Without kernels, which take a minute to compile."""
    page = ROOT / "web" / "static"
    if not (page / "index.html").is_file():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("the page is not built: make web")
    made = tmp_path / "made"
    made.mkdir()
    subprocess.run(
        [sys.executable, "-c", WHEEL, str(made), str(tmp_path)], cwd=ROOT, check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as archive:
        files = {name for name in archive.namelist() if name.startswith("web/") and not name.endswith(".py")}
    names = json.loads((page / "manifest.json").read_text()).values()
    assert files == {f"web/static/{name}" for name in (*names, "index.html", "manifest.json")}
