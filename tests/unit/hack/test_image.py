"""What the image is built from."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[3]
MADE = {".py", ".c", ".so", ".pyc"}
"""Endings of modules, and of what is made from the sources here."""


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
        if not any(fnmatch(path.name, each) for each in data.get(".".join(path.parent.parts), ()))
    ]
    assert left_out == []
