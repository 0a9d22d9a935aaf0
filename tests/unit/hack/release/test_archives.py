"""Archives follow from names, contents and one time."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hack.release import archives
from hack.release.archives import Entry

SECONDS = 1_795_000_000
NAMES = st.from_regex(r"[a-z]{1,8}(/[a-z]{1,3}){0,3}\.[a-z]{1,3}", fullmatch=True)
FILES = st.dictionaries(NAMES, st.builds(Entry, st.binary(max_size=200), st.booleans()), max_size=8)
KINDS = {"tar": archives.tar, "tar.gz": archives.tar_gz, "zip": archives.zipped}


@pytest.mark.parametrize("kind", KINDS)
@given(files=FILES, seed=st.integers(0, 9))
def test_the_order_of_files_does_not_count(kind: str, files: dict[str, Entry], seed: int) -> None:
    names = list(files)
    random.Random(seed).shuffle(names)
    again = {name: files[name] for name in names}
    assert KINDS[kind](files, SECONDS) == KINDS[kind](again, SECONDS)


@pytest.mark.parametrize("kind", KINDS)
@given(files=FILES)
def test_what_is_packed_is_read_again(kind: str, files: dict[str, Entry]) -> None:
    read = archives.of_zip if kind == "zip" else archives.of_tar
    assert read(KINDS[kind](files, SECONDS)) == files


@pytest.mark.parametrize("kind", KINDS)
def test_umask_and_times_of_a_folder_do_not_count(kind: str, tmp_path: Path) -> None:
    packed = []
    for number, umask in enumerate((0o022, 0o077, 0o002)):
        folder = tmp_path / str(number)
        before = os.umask(umask)
        try:
            for name in ("b/one.py", "a.txt", "run") if number else ("run", "a.txt", "b/one.py"):
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(name)
                os.utime(path, (number * 1000, number * 1000))
            (folder / "run").chmod(0o777 & ~umask)
        finally:
            os.umask(before)
        packed.append(KINDS[kind](archives.entries(folder, "below"), SECONDS))
    assert packed[0] == packed[1] == packed[2]


@pytest.mark.parametrize("kind", KINDS)
def test_time_mode_and_content_do_count(kind: str) -> None:
    pack = KINDS[kind]
    usual = pack({"a": Entry(b"1")}, SECONDS)
    others = (
        pack({"a": Entry(b"2")}, SECONDS),
        pack({"a": Entry(b"1", executable=True)}, SECONDS),
        pack({"b": Entry(b"1")}, SECONDS),
        pack({"a": Entry(b"1")}, SECONDS + 2),
    )
    assert usual not in others


def test_a_link_stands_for_its_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")
    assert archives.entries(tmp_path)["link"] == Entry(b"text")


def test_metadata_of_a_wheel_comes_last() -> None:
    names = list(
        archives.of_zip(archives.zipped({"a.dist-info/RECORD": Entry(b""), "z.py": Entry(b"")}, SECONDS))
    )
    assert names == ["z.py", "a.dist-info/RECORD"]


def test_zip_has_no_time_before_1980() -> None:
    assert archives.zipped({"a": Entry(b"")}, 0) == archives.zipped({"a": Entry(b"")}, archives.FIRST_OF_ZIP)


def test_files_are_written_with_mode_and_time(tmp_path: Path) -> None:
    archives.write({"bin/run": Entry(b"#!", executable=True)}, tmp_path, 1000)
    status = (tmp_path / "bin" / "run").stat()
    assert (status.st_mode & 0o777, status.st_mtime) == (0o755, 1000)


def test_nothing_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="outside"):
        archives.write({"../evil": Entry(b"")}, tmp_path / "inside")


def test_files_that_differ_are_named() -> None:
    one, other = (
        {"same": Entry(b""), "gone": Entry(b""), "a": Entry(b"1")},
        {"same": Entry(b""), "a": Entry(b"2")},
    )
    assert archives.differing(one, other) == ["a", "gone"]
