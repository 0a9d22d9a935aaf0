"""The sdist, and the wheel that is built from it: twice, and the same both times.

setuptools makes the contents, `archives` the archives around them. The compiled modules have no debug information and
no run path, because both name folders of the machine.
"""

from __future__ import annotations

import json
import os
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hack.release import archives
from hack.release.archives import Entry
from hack.release.errors import ReleaseError
from hack.release.running import OTHERS, USUAL, Conditions, run
from hack.release.source import Source
from hack.release.tools import environment, python_of

__all__ = ["check_page", "check_paths", "check_same", "compiler_flags", "make"]

PAGE: Final = "web/static/"
JOBS: Final = "[build_ext]\nparallel = {jobs}\n"
"""setuptools reads this from the file of DIST_EXTRA_CONFIG."""


def make(source: Source, scratch: Path, dist: Path) -> list[Path]:
    """Write sdist and wheel into the folder. Raises ReleaseError if two builds differ, or a piece is wrong."""
    first = _built(source, scratch / "one", USUAL)
    second = _built(source, scratch / "another place", OTHERS)
    for name in sorted(first.keys() | second.keys()):
        check_same(name, first.get(name, b""), second.get(name, b""))
    check_paths(_files(first), [scratch, source.root, Path(sysconfig.get_path("include"))])
    for name, content in first.items():
        if name.endswith(".whl"):
            check_page(archives.of_zip(content))
        (dist / name).write_bytes(content)
    return [dist / name for name in first]


def _built(source: Source, folder: Path, conditions: Conditions) -> dict[str, bytes]:
    """Both archives by name."""
    python = python_of(environment(source.root))
    tree = source.export(folder / "tree", conditions.age)
    settled = _settled(conditions, source.seconds, folder)
    run(python, "hack/page.py", cwd=tree, env=settled, umask=conditions.umask)
    build = (python, "-m", "build", "--no-isolation", "--outdir", folder)
    run(*build, "--sdist", tree, env=settled, umask=conditions.umask)
    (made,) = folder.glob("*.tar.gz")
    sdist = archives.tar_gz(archives.of_tar(made), source.seconds)
    unpacked = _unpacked(sdist, folder / "unpacked", source.seconds - conditions.age)
    run(*build, "--wheel", unpacked, env=settled, umask=conditions.umask)
    (wheel,) = folder.glob("*.whl")
    return {made.name: sdist, wheel.name: archives.zipped(archives.of_zip(wheel), source.seconds)}


def _settled(conditions: Conditions, seconds: int, folder: Path) -> dict[str, str]:
    configuration = folder / "jobs.cfg"
    configuration.write_text(JOBS.format(jobs=conditions.jobs))
    compiler = os.environ.get("CC") or str(sysconfig.get_config_var("CC"))
    return conditions.environment(seconds) | {
        "DIST_EXTRA_CONFIG": str(configuration),
        "CFLAGS": compiler_flags(),
        # Without the run path of this Python.
        "LDSHARED": f"{compiler} -shared",
    }


def compiler_flags() -> str:
    """Those of this Python, without debug information. setuptools takes them in place of its own."""
    return f"{sysconfig.get_config_var('CFLAGS')} -g0"


def _unpacked(sdist: bytes, folder: Path, seconds: int) -> Path:
    """The only folder in the archive."""
    archives.write(archives.of_tar(sdist), folder, seconds)
    (root,) = folder.iterdir()
    return root


def _files(built: Mapping[str, bytes]) -> dict[str, Entry]:
    files: dict[str, Entry] = {}
    for name, content in built.items():
        read = archives.of_zip if name.endswith(".whl") else archives.of_tar
        files |= {f"{name}: {path}": entry for path, entry in read(content).items()}
    return files


def check_same(name: str, one: bytes, other: bytes) -> None:
    if one == other:
        return
    read = archives.of_zip if name.endswith(".whl") else archives.of_tar
    parts = archives.differing(read(one), read(other)) if one and other else ["one build has not made it"]
    raise ReleaseError(f"two builds of {name} differ in {', '.join(parts[:10]) or 'the archive itself'}")


def check_paths(files: Mapping[str, Entry], folders: list[Path]) -> None:
    """Raises ReleaseError if a file names one of the folders of this machine."""
    needles = {str(folder): str(folder).encode() + b"/" for folder in folders if len(folder.parts) > 1}
    for name, entry in files.items():
        for folder, needle in needles.items():
            if needle in entry.content:
                raise ReleaseError(f"{name} names a folder of this machine: {folder}")


def check_page(wheel: Mapping[str, Entry]) -> None:
    """Raises ReleaseError if a wheel has no page, or not the licenses of what is bundled in it."""
    manifest = wheel.get(f"{PAGE}manifest.json")
    if manifest is None:
        raise ReleaseError(f"the wheel has no {PAGE}manifest.json")
    names: dict[str, str] = json.loads(manifest.content)
    missing = [name for name in ("index.html", *names.values()) if f"{PAGE}{name}" not in wheel]
    if missing or "licenses" not in names:
        raise ReleaseError(f"the wheel lacks of the page: {', '.join(missing) or 'licenses'}")
