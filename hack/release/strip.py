"""Remove from a Python what installs packages. The image runs this, so it imports nothing of the project."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGES: Final = ("pip", "setuptools", "pkg_resources", "wheel", "ensurepip")
COMMANDS: Final = ("pip*", "easy_install*", "wheel*")


def found() -> Iterator[Path]:
    """The folders of packages, and the commands beside this Python."""
    for name in PACKAGES:
        spec = find_spec(name)
        yield from map(Path, (spec.submodule_search_locations or ()) if spec else ())
    for folder in {Path(sysconfig.get_path("scripts")), Path(sys.executable).parent}:
        for pattern in COMMANDS:
            yield from folder.glob(pattern)


if __name__ == "__main__":
    for path in list(found()):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
