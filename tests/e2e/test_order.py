"""The files of scenarios that are put in order."""

from __future__ import annotations

import pytest

from tests.e2e.order import HERE, LONGEST, SHARING


def test_each_name_is_that_of_a_file_or_of_a_shared_plane() -> None:
    names = {*LONGEST, *(name for group in SHARING.values() for name in group)} - {*SHARING}
    assert [name for name in names if not (HERE / f"test_{name}.py").is_file()] == []


@pytest.mark.parametrize("plane", ["api_plane", "control_plane", "webhook_plane"])
def test_files_that_use_the_same_plane_share_it(plane: str) -> None:
    """Of `reprieve_plane` this cannot be seen: files get it through their sandbox."""
    files = [file for file in HERE.glob("test_*.py") if f"{plane}: ControlPlane" in file.read_text()]
    assert {file.stem.removeprefix("test_") for file in files} == {*SHARING[plane]}
