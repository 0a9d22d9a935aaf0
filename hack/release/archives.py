"""Archives whose bytes follow from the names, contents and one time alone.

The order of a folder, times, owners and umask do not get into them. Of the mode of a file only stays whether its owner
may execute it.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

__all__ = ["Entry", "differing", "entries", "of_tar", "of_zip", "tar", "tar_gz", "write", "zipped"]

FIRST_OF_ZIP: Final = 315_532_800
"""1980-01-01: zip has no earlier times."""
LEVEL: Final = 9


@dataclass(frozen=True)
class Entry:
    """A file of an archive."""

    content: bytes
    executable: bool = False

    @property
    def mode(self) -> int:
        return 0o755 if self.executable else 0o644


def entries(folder: Path, below: str = "") -> dict[str, Entry]:
    """The files of a folder by their paths, with `below` before each. A link stands for the file behind it."""
    prefix = f"{below}/" if below else ""
    return {
        prefix + path.relative_to(folder).as_posix(): Entry(
            path.read_bytes(), bool(path.stat().st_mode & 0o100)
        )
        for path in folder.rglob("*")
        if path.is_file()
    }


def tar(files: Mapping[str, Entry], seconds: int) -> bytes:
    """A tar archive. Names are in order. Folders have no entries: programs make them as they need them."""
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(files[name].content), files[name].mode, seconds
            archive.addfile(info, BytesIO(files[name].content))
    return buffer.getvalue()


def tar_gz(files: Mapping[str, Entry], seconds: int) -> bytes:
    """The same, compressed. The header of gzip has no name."""
    buffer = BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=buffer, mtime=seconds) as file:
        file.write(tar(files, seconds))
    return buffer.getvalue()


def zipped(files: Mapping[str, Entry], seconds: int) -> bytes:
    """A zip archive. As wheels should have it, *.dist-info comes last."""
    buffer = BytesIO()
    date = time.gmtime(max(seconds, FIRST_OF_ZIP))[:6]
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            info = zipfile.ZipInfo(name, date)
            info.create_system = 3  # Unix, whatever this machine is
            info.external_attr = (0o100000 | files[name].mode) << 16
            archive.writestr(info, files[name].content, zipfile.ZIP_DEFLATED, LEVEL)
    return buffer.getvalue()


def of_tar(archive: Path | bytes) -> dict[str, Entry]:
    """The files of a tar archive, compressed or not."""
    with tarfile.open(fileobj=BytesIO(_bytes(archive))) as tar_file:
        return dict(_members(tar_file))


def of_zip(archive: Path | bytes) -> dict[str, Entry]:
    """The files of a zip archive."""
    with zipfile.ZipFile(BytesIO(_bytes(archive))) as zip_file:
        return {
            info.filename: Entry(zip_file.read(info), bool(info.external_attr >> 16 & 0o100))
            for info in zip_file.infolist()
            if not info.is_dir()
        }


def write(files: Mapping[str, Entry], folder: Path, seconds: int | None = None) -> None:
    """Write the files of an archive into a folder. If a time is given, they have it."""
    for name, entry in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{name} would be outside of the folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.content)
        path.chmod(entry.mode)
        if seconds is not None:
            os.utime(path, (seconds, seconds))


def differing(one: Mapping[str, Entry], other: Mapping[str, Entry]) -> list[str]:
    """The names whose files are not the same in both, in order."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def _members(archive: tarfile.TarFile) -> Iterator[tuple[str, Entry]]:
    for info in archive:
        file = archive.extractfile(info) if info.isfile() else None
        if file is not None:
            yield info.name, Entry(file.read(), bool(info.mode & 0o100))


def _bytes(archive: Path | bytes) -> bytes:
    return archive if isinstance(archive, bytes) else archive.read_bytes()
