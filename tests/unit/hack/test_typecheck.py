"""What mypy has found out in one checkout is there in the next one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hack.typecheck import CACHE, checked

ADDS = """
import pathlib, sys
cache = pathlib.Path(".mypy_cache", "known")
cache.parent.mkdir(exist_ok=True)
cache.write_text(cache.read_text() + sys.argv[1] if cache.exists() else sys.argv[1])
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(root: Path, adds: str, status: int = 0, settings: str = "strict = true") -> str:
    """What is known in the checkout after a run of a program that adds to it."""
    root.mkdir(exist_ok=True)
    (root / "pyproject.toml").write_text(f"[tool.mypy]\n{settings}\n")
    assert checked(root, [sys.executable, "-c", ADDS, adds, str(status)]) == status
    return (root / CACHE / "known").read_text()


def test_a_fresh_clone_goes_on_from_what_is_known(tmp_path: Path) -> None:
    assert run(tmp_path / "one", "a") == "a"
    assert run(tmp_path / "two", "b") == "ab"
    assert run(tmp_path / "one", "c") == "ac", "it has its own"
    assert run(tmp_path / "three", "d") == "acd"


def test_nothing_is_kept_of_a_run_that_fails_or_for_other_settings(tmp_path: Path) -> None:
    run(tmp_path / "one", "a", status=1)
    assert run(tmp_path / "two", "b") == "b"
    assert run(tmp_path / "three", "c", settings="strict = false") == "c"
