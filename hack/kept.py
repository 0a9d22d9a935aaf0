"""What takes long to make, kept outside of the checkout by what it is made of. So a fresh clone finds it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from hack.controlplane.binaries import cache_root

__all__ = ["keep", "kept"]


def kept(kind: str, made_of: Iterable[str | bytes]) -> Path:
    """The folder for what is made of these contents. It need not be there."""
    digest = sha256()
    for part in made_of:
        content = part.encode() if isinstance(part, str) else part
        digest.update(f"{len(content)}\0".encode() + content)
    return cache_root().parent / kind / digest.hexdigest()[:16]


def keep(folder: Path, root: Path, files: Iterable[Path]) -> None:
    """Copy files below `root` to the folder, under the same paths. All are there at once, in place of former ones.

    Another process may keep the same at the same time: one of both folders stays.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as scratch:
        new = Path(scratch, "new")
        new.mkdir()
        for file in files:
            copy = new / file.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        with suppress(OSError):
            folder.rename(Path(scratch, "old"))
        with suppress(OSError):
            new.rename(folder)
