"""Sums and statement are about all files, and find a changed one."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from hack.release import statement
from hack.release.errors import ReleaseError
from hack.release.source import Source

ROOT = Path(__file__).parents[4]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    root = tmp_path / "checkout"
    for name in statement.LOCKS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return Source(root, "c" * 40, 1_795_000_000, ())


@pytest.fixture
def dist(source: Source, tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "b.whl").write_bytes(b"wheel")
    (folder / "a.tar.gz").write_bytes(b"sdist")
    statement.make(source, "1.2.3", folder, {"reprieve:1.2.3": "d" * 64})
    return folder


def test_the_statement_names_each_file_and_image_with_its_digest(dist: Path) -> None:
    body = json.loads((dist / "reprieve-1.2.3.intoto.json").read_text())
    assert body["_type"] == "https://in-toto.io/Statement/v1"
    assert {each["name"]: each["digest"]["sha256"] for each in body["subject"]} == {
        "a.tar.gz": hashlib.sha256(b"sdist").hexdigest(),
        "b.whl": hashlib.sha256(b"wheel").hexdigest(),
        "reprieve:1.2.3": "d" * 64,
    }


def test_the_statement_names_commit_and_locks(dist: Path) -> None:
    body = json.loads((dist / "reprieve-1.2.3.intoto.json").read_text())
    materials = body["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert materials[0] == {"name": "reprieve", "digest": {"gitCommit": "c" * 40}}
    assert {each["name"] for each in materials[1:]} == set(statement.LOCKS)


def test_the_sums_are_those_of_sha256sum(dist: Path) -> None:
    lines = (dist / statement.SUMS).read_text().splitlines()
    assert lines[0] == f"{hashlib.sha256(b'sdist').hexdigest()}  a.tar.gz"
    assert [line.split("  ")[1] for line in lines] == ["a.tar.gz", "b.whl", "reprieve-1.2.3.intoto.json"]


def test_the_command_of_the_page_finds_a_changed_file(dist: Path) -> None:
    page = (ROOT / "docs" / "releasing.md").read_text()
    (command,) = re.findall(r"^sha256sum .*$", page, re.MULTILINE)
    subprocess.run(shlex.split(command), cwd=dist, check=True, capture_output=True)
    (dist / "b.whl").write_text("other")
    assert subprocess.run(shlex.split(command), cwd=dist, check=False, capture_output=True).returncode == 1


def test_two_times_the_same(dist: Path, source: Source) -> None:
    before = {path.name: path.read_bytes() for path in dist.iterdir()}
    for name in ("reprieve-1.2.3.intoto.json", statement.SUMS):
        (dist / name).unlink()
    statement.make(source, "1.2.3", dist, {"reprieve:1.2.3": "d" * 64})
    assert {path.name: path.read_bytes() for path in dist.iterdir()} == before


@pytest.mark.parametrize("name", ["a.tar.gz", "b.whl", "reprieve-1.2.3.intoto.json", "new"])
def test_a_file_that_changed_is_named(dist: Path, name: str) -> None:
    if name.endswith(".json"):
        body = json.loads((dist / name).read_text())
        (dist / name).write_text(json.dumps(body))
    else:
        (dist / name).write_text("other")
    with pytest.raises(ReleaseError, match=name):
        statement.check(dist)


def test_a_file_that_is_missing_is_named(dist: Path) -> None:
    (dist / "b.whl").unlink()
    with pytest.raises(ReleaseError, match=r"b\.whl"):
        statement.check(dist)
