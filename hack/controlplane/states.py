"""What etcd holds once the manifests are applied. A later plane with the same options begins with it."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["States"]

PREALLOCATED: Final = ".tmp"
"""Empty files that etcd makes before it needs them."""


class States:
    """A folder with data of etcd, by a text that says what they depend on. Several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder

    def restore(self, key: str, data: Path) -> bool:
        """Copy what is kept into a folder that does not exist yet. False if nothing is kept."""
        kept = self._kept(key)
        if not kept.exists():
            return False
        _copy(kept, data)
        return True

    def keep(self, key: str, data: Path) -> None:
        """Keep the data of an etcd that does not run now. The first process that keeps some is right."""
        copy = Path(tempfile.mkdtemp(dir=self._folder), "etcd")
        _copy(data, copy)
        try:
            copy.rename(self._kept(key))
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        shutil.rmtree(copy.parent)

    def _kept(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode()).hexdigest()[:16]


def _copy(source: Path, target: Path) -> None:
    ignored = shutil.ignore_patterns(f"*{PREALLOCATED}")
    shutil.copytree(source, target, copy_function=_copy_file, ignore=ignored)


def _copy_file(source: str, target: str) -> None:
    """Holes stay holes: a log of etcd has 64 MB, and nearly all of it is empty."""
    with Path(source).open("rb") as read, Path(target).open("wb") as write:
        size = os.fstat(read.fileno()).st_size
        write.truncate(size)
        end = 0
        while (begin := _data_from(read.fileno(), end, size)) < size:
            end = os.lseek(read.fileno(), begin, os.SEEK_HOLE)
            read.seek(begin)
            write.seek(begin)
            write.write(read.read(end - begin))


def _data_from(file: int, offset: int, size: int) -> int:
    """Where the next data begin; the size if there are none."""
    try:
        return os.lseek(file, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return size
