"""Where helpers of tests live: in tests/kit, or beside the only room that uses them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
KIT: Final = Path("tests", "kit")
TWINS: Final = Path("tests", "twins")
BUILT_ON: Final = {
    Path("tests", "multicluster"): Path("tests", "e2e"),
    Path("tests", "e2e"): Path("tests", "web"),
}
"""Scenarios with several clusters are built from those with one: each cluster has a sandbox. Some with one cluster use
the browser of the page's tests. Nothing there knows of them."""


def imported(path: Path) -> Iterator[Path]:
    """The modules of tests/ that a module imports, also inside of functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tests":
            yield from (_module(node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (_module(alias.name) for alias in node.names if alias.name.startswith("tests."))


def _module(dotted: str, name: str = "") -> Path:
    """`name` may be a module of the package, or something in the module."""
    base = ROOT.joinpath(*dotted.split("."))
    below = base / f"{name}.py"
    return below if name and below.exists() else base.with_suffix(".py")


def fault(path: Path, module: Path) -> str | None:
    """What is wrong with this import, if anything is."""
    room, home = path.parent.relative_to(ROOT), module.parent.relative_to(ROOT)
    if module.name.startswith(("test_", "conftest")):
        return "is collected by pytest"
    if home.is_relative_to(KIT) or home.is_relative_to(TWINS):
        return None
    if room.is_relative_to(KIT):
        return "belongs to a room, and the kit to none"
    if any(room.is_relative_to(above) and home.is_relative_to(below) for above, below in BUILT_ON.items()):
        return None
    return None if home.is_relative_to(room) or room.is_relative_to(home) else "belongs to another room"


def test_a_helper_is_in_the_kit_or_beside_its_only_room() -> None:
    paths = sorted((ROOT / "tests").rglob("*.py"))
    faults = [
        f"{path.relative_to(ROOT)}: {module.relative_to(ROOT)} {wrong}"
        for path in paths
        for module in imported(path)
        if (wrong := fault(path, module)) is not None
    ]
    assert faults == []


def test_a_room_is_built_on_another_one_in_one_direction_only() -> None:
    for above, below in BUILT_ON.items():
        assert fault(ROOT / above / "box.py", ROOT / below / "support.py") is None
        assert fault(ROOT / below / "test_gates.py", ROOT / above / "box.py") == "belongs to another room"
        assert fault(ROOT / above / "box.py", ROOT / below / "conftest.py") == "is collected by pytest"
