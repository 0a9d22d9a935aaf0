"""What the image is built from."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_package_is_let_into_the_image() -> None:
    """.dockerignore leaves out whatever it does not name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {
        name.partition(".")[0] for name in project["tool"]["setuptools"]["packages"]["find"]["include"]
    }
    let_in = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines()}
    assert packages <= let_in
