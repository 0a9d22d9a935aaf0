"""A release is of a commit, and of nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hack.release import source
from hack.release.errors import ReleaseError

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (
        ("NAME", "somebody"),
        ("EMAIL", "somebody@example.com"),
        ("DATE", "2026-11-27T12:00:00Z"),
    )
}
SECONDS = 1_795_780_800


def git(folder: Path, *arguments: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **IDENTITY}
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env=environment)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """One commit with two files, and a file that git ignores."""
    folder = tmp_path / "checkout"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "page.md").write_text("page")
    (folder / "run").write_text("#!/bin/sh")
    (folder / "run").chmod(0o755)
    (folder / ".gitignore").write_text("ignored\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "first")
    (folder / "ignored").write_text("left over")
    return folder


def test_a_clean_tree_has_commit_time_and_tags(checkout: Path) -> None:
    git(checkout, "tag", "v0.1.0")
    read = source.read(checkout)
    assert (len(read.commit), read.seconds, read.tags) == (40, SECONDS, ("v0.1.0",))


@pytest.mark.parametrize("name", ["docs/page.md", "docs/new.md"])
def test_a_dirty_tree_is_refused_with_the_file(checkout: Path, name: str) -> None:
    (checkout / name).write_text("changed")
    with pytest.raises(ReleaseError, match=rf"differs from its commit(.|\n)*{name}"):
        source.read(checkout)


def test_a_file_that_was_removed_is_named(checkout: Path) -> None:
    (checkout / "run").unlink()
    with pytest.raises(ReleaseError, match="run"):
        source.read(checkout)


def test_of_many_files_the_first_are_named(checkout: Path) -> None:
    for number in range(12):
        (checkout / f"{number:02}").write_text("")
    with pytest.raises(ReleaseError, match="09\n  and 2 more"):
        source.read(checkout)


def test_only_files_of_the_commit_are_exported(checkout: Path, tmp_path: Path) -> None:
    folder = source.read(checkout).export(tmp_path / "out", age=100)
    assert {path.name for path in folder.rglob("*")} == {".gitignore", "docs", "page.md", "run"}
    assert (folder / "run").stat().st_mode & 0o777 == 0o755
    assert (folder / "docs" / "page.md").stat().st_mtime == SECONDS - 100
