"""What is refused before anything is made, and that a release which fails leaves the former one."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from hack.release import __main__ as subject
from hack.release import charts, source, versions
from hack.release.errors import ReleaseError
from hack.release.source import Source

COMMIT = "c" * 40


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A former release."""
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "former").write_text("")
    return tmp_path / "dist"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The scratch folders of releases that were begun. None gets far."""
    begun: list[Path] = []

    class Nothing:
        def __init__(self, *arguments: object) -> None:
            begun.append(Path(str(arguments[2])))

        def make(self) -> None:
            raise ReleaseError("the plugin is wrong")

    monkeypatch.setattr(subject, "Release", Nothing)
    return begun


def test_a_refused_tree_begins_nothing(dist: Path, made: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(root: Path) -> Source:
        raise ReleaseError("the tree differs from its commit")

    monkeypatch.setattr(source, "read", refuse)
    result = CliRunner().invoke(subject.main, ["--dist", str(dist)])
    assert (result.exit_code, made) == (1, [])
    assert "no release: the tree differs from its commit" in result.output


def test_a_refused_version_begins_nothing(
    dist: Path, made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "read", lambda root: Source(root, COMMIT, 1, ("v9.9.9",)))
    result = CliRunner().invoke(subject.main, ["--dist", str(dist)])
    assert (result.exit_code, made) == (1, [])
    assert "tag v9.9.9" in result.output


def test_a_release_that_fails_leaves_the_former_one_and_no_scratch(
    dist: Path, made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "read", lambda root: Source(root, COMMIT, 1, ()))
    monkeypatch.setattr(versions, "agreed", lambda root, tags: "1.2.3")
    result = CliRunner().invoke(subject.main, ["--dist", str(dist)])
    assert (result.exit_code, [path.name for path in dist.iterdir()]) == (1, ["former"])
    assert "the plugin is wrong" in result.output
    assert [scratch.exists() for scratch in made] == [False]


def test_a_tree_without_charts_needs_no_helm(tmp_path: Path) -> None:
    assert charts.make(Source(tmp_path, COMMIT, 1, ()), tmp_path, tmp_path, tmp_path) == []


def test_a_comparison_that_nobody_has_checked_for_long_is_no_part_of_a_release() -> None:
    subject.current(date(2026, 11, 27))
    with pytest.raises(ReleaseError, match="was checked more than 180 days ago"):
        subject.current(date(2027, 11, 27))
