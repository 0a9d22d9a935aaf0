"""Files in the encodings and packings that tools write."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import click
import pytest

from answers.errors import InputError
from cli.common.files import files_of, read_file

TEXT = "kind: Pod # \u65e5\u672c\n"


def read(folder: Path, data: bytes) -> bytes:
    path = folder / "a.json"
    path.write_bytes(data)
    return read_file(str(path))


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.json: No such file"):
        read_file(str(tmp_path / "nothing.json"))
    with pytest.raises(InputError, match="Is a directory"):
        read_file(str(tmp_path))


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path: Path, encoding: str, packed: bool) -> None:
    data = TEXT.encode(encoding)
    assert read(tmp_path, gzip.compress(data, mtime=0) if packed else data) == TEXT.encode()


def test_two_marks(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff{}".encode("utf-16")) == b"{}"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("kind: Pod # \xe9".encode("latin-1"), r"a\.json: is not UTF-8 \(byte 13\)"),
        (b"\xff\xfe{\x00}", r"a\.json: is not UTF-16 \(byte 5\)"),
        (gzip.compress(b"{}", mtime=0)[:-3], r"a\.json: is not correct gzip: "),
        (b"\x1f\x8b\x08nothing", r"a\.json: is not correct gzip: "),
        (b"PK\x03\x04...", r"a\.json: is packed with zip, which is not read: unpack it first"),
        (b"BZh9", r"a\.json: is packed with bzip2"),
    ],
)
def test_other_bytes_are_one_sentence(tmp_path: Path, data: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as raised:
        read(tmp_path, data)
    assert "\n" not in str(raised.value)


def test_standard_input_can_be_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"kind: x")))
    with click.Context(click.Command("a")):
        assert read_file("-") == b"kind: x"
        with pytest.raises(InputError, match="only once"):
            read_file("-")


def test_folders_and_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.yaml", "a.json", "c.txt", "d[1].yaml", "more.json.gz"):
        Path("some", name).parent.mkdir(exist_ok=True)
        Path("some", name).touch()
    Path("some/inside").mkdir()
    Path("none").mkdir()
    assert files_of(["some"]) == ["some/a.json", "some/b.yaml", "some/d[1].yaml", "some/more.json.gz"]
    assert files_of(["some/*.yaml", "-", "x.json"]) == ["some/b.yaml", "some/d[1].yaml", "-", "x.json"]
    assert files_of(["some/d[1].yaml"]) == ["some/d[1].yaml"]
    with pytest.raises(InputError, match="none: has no "):
        files_of(["none"])
    with pytest.raises(InputError, match=r"none/\*: no file has such a name"):
        files_of(["none/*"])
