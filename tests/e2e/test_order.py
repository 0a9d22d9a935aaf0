"""The files of scenarios that are put in order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.order import HERE, LONGEST, MATRIX, SHARING, TRIO

THROUGH: Final = {
    "sandbox": "reprieve_plane",
    "quotas": "quota_plane",
    "reprieve_with": "plane_without_reprieve",
    "plane_without_reprieve": "plane_without_reprieve",
    **{plane: plane for plane in SHARING},
}
"""By fixture of conftest.py: the shared plane that a test gets with it."""
BOTH: Final = {
    "tenant": {"reprieve_plane", "plane_without_reprieve"},
    "singles": {"reprieve_plane", "plane_without_reprieve"},
    "spread": {"reprieve_plane", "plane_without_reprieve"},
    "load": {"quota_plane", "api_plane"},
}
"""Files that use two shared planes. They are in the group of the one that costs more."""


def asked(path: Path) -> Iterator[str]:
    """The fixtures that tests and fixtures of a file ask for, also by name, except those that the file makes itself."""
    tree = ast.parse(path.read_text())
    yield from (
        each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and each.value in THROUGH
    )
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    own = {each.name for each in functions if any("fixture" in ast.unparse(d) for d in each.decorator_list)}
    for each in functions:
        if each.name in own or each.name.startswith("test_"):
            yield from ({argument.arg for argument in each.args.args} - own)


def shared(path: Path) -> set[str]:
    """The shared planes that a file uses."""
    return {THROUGH[name] for name in asked(path) if name in THROUGH} if path != Path(__file__) else set()


def test_each_name_is_that_of_a_file_or_of_a_shared_plane() -> None:
    names = {*LONGEST, *(name for group in SHARING.values() for name in group)} - {*SHARING, TRIO}
    assert [name for name in names if not (HERE / f"test_{name}.py").is_file()] == []
    assert [path for path in MATRIX if not path.is_file()] == []


@pytest.mark.parametrize("plane", SHARING)
def test_files_that_use_the_same_plane_share_it(plane: str) -> None:
    """Also those that get it through a sandbox. Otherwise the plane would start again for such a file alone."""
    used = {file.stem.removeprefix("test_"): shared(file) for file in HERE.glob("test_*.py")}
    more = {name: found for name, found in used.items() if len(found) > 1}
    assert more == BOTH
    assert {name for name, found in used.items() if found == {plane}} == set(SHARING[plane]) - set(BOTH)


def test_a_file_that_uses_two_planes_has_a_group() -> None:
    assert BOTH.keys() <= {name for group in SHARING.values() for name in group}
