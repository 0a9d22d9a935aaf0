"""Bases of the image have digests, and the image has nothing that installs or compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hack.release import image
from hack.release.errors import ReleaseError
from hack.release.trials.image import lean

ROOT = Path(__file__).parents[4]
DIGEST = f"sha256:{'0' * 64}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "bases.env"


def test_digests_are_read(file: Path) -> None:
    file.write_text(
        f"# comment\nBUILD_BASE=registry.example/python@{DIGEST}\nRUN_BASE=localhost:5000/slim@{DIGEST}\n"
    )
    assert image.bases(file) == {
        "BUILD_BASE": f"registry.example/python@{DIGEST}",
        "RUN_BASE": f"localhost:5000/slim@{DIGEST}",
    }


def test_without_a_digest_there_is_no_base(file: Path) -> None:
    file.write_text("BUILD_BASE=\nRUN_BASE=\n")
    assert image.bases(file) == {}


@pytest.mark.parametrize("value", ["", "python:3.11", f"python@{DIGEST[:-1]}", f"python:3.11@md5:{'0' * 32}"])
def test_what_is_no_digest_is_refused(file: Path, value: str) -> None:
    file.write_text(f"BUILD_BASE=python@{DIGEST}\nRUN_BASE={value}\n")
    with pytest.raises(ReleaseError, match="RUN_BASE must be NAME@sha256:DIGEST"):
        image.bases(file)


@pytest.mark.parametrize("text", ["", "BUILD_BASE=\n", "BUILD_BASE=\nRUN_BASE=\nOTHER=\n"])
def test_both_bases_and_no_others_are_named(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(ReleaseError, match="must have BUILD_BASE and RUN_BASE"):
        image.bases(file)


def test_our_file_can_be_read() -> None:
    assert set(image.bases(ROOT / image.BASES)) in (set(), {"BUILD_BASE", "RUN_BASE"})


def test_every_from_of_the_dockerfile_takes_a_base_of_the_file() -> None:
    """Another one would not be given by digest."""
    found = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert found == ["${BUILD_BASE}", "${RUN_BASE}"]


@pytest.mark.parametrize(
    "name",
    [
        "usr/bin/gcc",
        "usr/local/bin/pip3",
        "opt/reprieve/bin/node",
        "opt/reprieve/lib/python3.11/site-packages/pip/",
        "usr/lib/python3.11/ensurepip/",
    ],
)
def test_what_installs_or_compiles_is_found(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    if name.endswith("/"):
        path.mkdir()
    else:
        path.write_text("")
    with pytest.raises(ReleaseError, match=name.rstrip("/")):
        lean(tmp_path)


def test_a_lean_root_is_good(tmp_path: Path) -> None:
    (tmp_path / "usr/share/doc/gcc").mkdir(parents=True)
    (tmp_path / "usr/bin").mkdir()
    (tmp_path / "usr/bin/python3").write_text("")
    lean(tmp_path)
