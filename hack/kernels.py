"""Install this checkout, with compiled kernels that are kept for the same sources, compiler and flags.

It takes a minute to compile them. pip compiles them anew in each checkout, also if they are there. So where they are
kept, setuptools makes the wheel of an editable installation without them, and pip installs that.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from setuptools import Distribution, setup

from hack.kept import keep, kept

__all__ = ["WithoutKernels", "compiled", "found", "home", "main"]

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("native", "schema")
SOURCES: Final = frozenset({".pyx", ".pxd"})
FLAGS: Final = ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS")


def home(root: Path = ROOT) -> Path:
    """Where those of this checkout are kept, on this machine and with this environment."""
    return kept("kernels", _made_of(root))


def _made_of(root: Path) -> Iterator[str | bytes]:
    yield from (metadata.version("cython"), metadata.version("setuptools"), sys.version, _compiler())
    for name in FLAGS:
        yield os.environ.get(name, "")
        yield str(sysconfig.get_config_var(name))
    yield str(tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"])
    for path in sorted(_files(root, SOURCES)):
        yield str(path.relative_to(root))
        yield path.read_bytes()


def _compiler() -> str:
    command = shlex.split(os.environ.get("CC") or str(sysconfig.get_config_var("CC")))
    try:
        return subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _files(root: Path, suffixes: frozenset[str]) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (path for path in (root / folder).rglob("*") if path.suffix in suffixes)


def compiled(root: Path = ROOT) -> list[Path]:
    """What the compilers have made."""
    return sorted(_files(root, frozenset({".so"})))


def found(root: Path = ROOT) -> bool:
    """Put those that are kept in their places. Returns whether they are kept."""
    folder = home(root)
    files = compiled(folder)
    for file in files:
        shutil.copy(file, root / file.relative_to(folder))
    return bool(files)


class WithoutKernels(Distribution):  # type: ignore[misc]  # it has no types
    """The checkout as pyproject.toml describes it, but nothing of it is to be compiled."""

    def parse_config_files(self, *arguments: Any, **named: Any) -> None:
        """Read it, and leave the extensions out."""
        super().parse_config_files(*arguments, **named)
        self.ext_modules: list[object] = []


def main() -> int:
    """Returns pip's exit status."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    if found():
        with TemporaryDirectory() as folder:
            setup(distclass=WithoutKernels, script_args=["--quiet", "editable_wheel", "--dist-dir", folder])
            wheels = [str(path) for path in Path(folder).glob("*.whl")]
            return subprocess.run([*pip, "--force-reinstall", *wheels], check=False).returncode
    status = subprocess.run([*pip, "--no-build-isolation", "--editable", "."], check=False).returncode
    if status == 0:
        keep(home(), ROOT, compiled())
    return status


if __name__ == "__main__":
    sys.exit(main())
