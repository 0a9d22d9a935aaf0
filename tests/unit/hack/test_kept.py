"""What takes long to make is found again by what it is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.kept import keep, kept


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def written(root: Path, **files: str) -> list[Path]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return [root / name for name in files]


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_the_same_contents_have_the_same_folder_outside_of_the_checkout(cache: Path) -> None:
    folder = kept("things", ["1.0", b"source"])
    assert folder == kept("things", [b"1.0", "source"])
    assert cache in folder.parents
    others = [["1.1", "source"], ["1.0", "other"], ["1.0source"], ["1.0s", "ource"], ["source", "1.0"]]
    assert len({folder, *(kept("things", each) for each in others), kept("others", ["1.0", "source"])}) == 7


def test_files_are_kept_under_their_paths(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    files = written(root, a="1", **{"inner/b": "2"})
    written(root, other="3")
    folder = kept("things", ["x"])
    keep(folder, root, files)
    assert texts(folder) == {"a": "1", "inner/b": "2"}


def test_what_is_kept_later_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    root, folder = tmp_path / "checkout", kept("things", ["x"])
    keep(folder, root, written(root, a="1", b="1"))
    keep(folder, root, written(root, a="2", c="2"))
    assert texts(folder) == {"a": "2", "c": "2"}
    assert list(folder.parent.iterdir()) == [folder]
