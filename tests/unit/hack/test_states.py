"""What is kept of etcd's data, and what a later plane gets of it."""

from __future__ import annotations

from pathlib import Path

from hack.controlplane.states import States

ONE, OTHER = "of one plane", "of another one"


def written(folder: Path, text: str) -> Path:
    """Data as etcd has them: a log that is nearly empty, a database, and an empty file for later."""
    (folder / "wal").mkdir(parents=True)
    with (folder / "wal" / "0.wal").open("wb") as log:
        log.write(text.encode())
        log.seek(1 << 20)
        log.write(b"end")
        log.truncate(1 << 24)
    (folder / "db").write_text(text)
    (folder / "wal" / "0.tmp").write_bytes(bytes(1 << 16))
    return folder


def test_nothing_is_restored_before_something_is_kept(tmp_path: Path) -> None:
    assert not States(tmp_path / "states").restore(ONE, tmp_path / "etcd")
    assert not (tmp_path / "etcd").exists()


def test_what_was_kept_comes_back_without_what_is_empty(tmp_path: Path) -> None:
    data = written(tmp_path / "data", "first")
    States(tmp_path / "states").keep(ONE, data)
    assert States(tmp_path / "states").restore(ONE, tmp_path / "etcd")
    for name in ("db", "wal/0.wal"):
        assert (tmp_path / "etcd" / name).read_bytes() == (data / name).read_bytes()
    assert (tmp_path / "etcd" / "wal" / "0.wal").stat().st_blocks * 512 < 1 << 21
    assert not (tmp_path / "etcd" / "wal" / "0.tmp").exists()


def test_other_options_get_nothing_of_it(tmp_path: Path) -> None:
    states = States(tmp_path / "states")
    states.keep(ONE, written(tmp_path / "data", "first"))
    assert not states.restore(OTHER, tmp_path / "etcd")


def test_the_first_process_that_keeps_some_is_right(tmp_path: Path) -> None:
    states = States(tmp_path / "states")
    for text in ("first", "second"):
        states.keep(ONE, written(tmp_path / text, text))
    assert states.restore(ONE, tmp_path / "etcd")
    assert (tmp_path / "etcd" / "db").read_text() == "first"
    assert len(list((tmp_path / "states").iterdir())) == 1
