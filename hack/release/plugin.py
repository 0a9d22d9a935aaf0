"""kubectl's plugin: one folder with its own Python, as an archive, and the manifest with which krew installs it."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

from hack.release import archives
from hack.release.archives import Entry
from hack.release.errors import ReleaseError
from hack.release.packages import check_paths
from hack.release.running import USUAL, run
from hack.release.source import Source
from hack.release.statement import digest
from hack.release.tools import environment, python_of

__all__ = ["PLUGIN", "make", "manifest", "parts", "without_installers"]

PLUGIN: Final = "kubectl-reprieve"
START: Final = "from cli.plugin import main\n\nmain()\n"
"""The program that PyInstaller puts into the folder."""
MODULES: Final = frozenset({".py", ".so"})
SOURCES: Final = frozenset({".pyx", ".pxd", ".pyi"})
"""What is compiled or only for type checkers."""
LEFT_OUT: Final = ("setuptools", "pkg_resources", "pip", "wheel", "Cython", "chardet", "lxml", "tkinter")
"""Of the environment in which PyInstaller runs: no package of requirements/runtime.txt needs them."""
INSTALLER: Final = re.compile(r"\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json)$")
SUMMARY: Final = "Explain gang scheduling and preemption"
DESCRIPTION: Final = (
    "Says why pods, PodGroups, Jobs and Workloads wait, who would be preempted for them, what an observing "
    "reprieve would have done, and whether it works in a cluster."
)
CAVEATS: Final = "The commands that read plans and reports need reprieve's CRDs in the cluster."


def make(
    source: Source, tree: Path, version: str, wheel: Path, url: str, scratch: Path, dist: Path
) -> list[Path]:
    """Write archive and manifest. `url` is the folder in which the archive will be. Raises ReleaseError."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise ReleaseError("the plugin is for linux/amd64, and made there")
    folder = _frozen(source, wheel, scratch / "plugin")
    files = without_installers(archives.entries(folder, PLUGIN)) | {
        "LICENSE": Entry((tree / "LICENSE").read_bytes())
    }
    check_paths(files, [scratch, source.root])
    archive = dist / f"{PLUGIN}-{version}-linux-amd64.tar.gz"
    archive.write_bytes(archives.tar_gz(files, source.seconds))
    described = dist / f"{PLUGIN}-{version}.krew.yaml"
    body = manifest(version, f"{url}/{archive.name}", digest(archive))
    described.write_text(yaml.safe_dump(body, sort_keys=False, width=120))
    return [archive, described]


def manifest(version: str, uri: str, sha256: str) -> dict[str, Any]:
    """What krew reads: the archive of one platform. Others install the sdist, by pipx."""
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": PLUGIN.removeprefix("kubectl-")},
        "spec": {
            "version": f"v{version}",
            "shortDescription": SUMMARY,
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": "linux", "arch": "amd64"}},
                    "uri": uri,
                    "sha256": sha256,
                    "files": [{"from": f"{PLUGIN}/*", "to": "."}, {"from": "LICENSE", "to": "."}],
                    "bin": PLUGIN,
                }
            ],
        },
    }


def without_installers(files: Mapping[str, Entry]) -> dict[str, Entry]:
    """The files without what an installer wrote beside metadata: it names folders of this machine, or their hashes."""
    return {name: entry for name, entry in files.items() if not INSTALLER.search(name)}


def parts(names: Iterable[str], site: Path) -> list[str]:
    """Options of PyInstaller for each file of an unpacked wheel. `reprieve` imports its commands by name, so all its
    modules are named."""
    found = []
    for name in sorted(names):
        path = PurePosixPath(name)
        if path.suffix in MODULES:
            module = (
                path.parent if path.name == "__init__.py" else path.with_name(path.name.partition(".")[0])
            )
            found.append(f"--hidden-import={'.'.join(module.parts)}")
        elif path.suffix not in SOURCES and not path.parts[0].endswith(".dist-info"):
            found.append(f"--add-data={site / name}:{path.parent}")
    return found


def _frozen(source: Source, wheel: Path, scratch: Path) -> Path:
    """The folder that PyInstaller makes of an unpacked wheel."""
    site = scratch / "site"
    files = archives.of_zip(wheel)
    archives.write(files, site)
    start = scratch / "start.py"
    start.write_text(START)
    command = [
        *(
            str(python_of(environment(source.root))),
            "-m",
            "PyInstaller",
            "--onedir",
            "--noconfirm",
            "--clean",
        ),
        # Licenses of what is in the folder are beside its metadata.
        *("--name", PLUGIN, "--paths", str(site), "--recursive-copy-metadata", "reprieve"),
        *parts(files, site),
        *(f"--exclude-module={name}" for name in LEFT_OUT),
        *("--distpath", str(scratch / "dist"), "--workpath", str(scratch / "work")),
        *("--specpath", str(scratch), str(start)),
    ]
    run(*command, env=_settled(source, site, scratch), umask=USUAL.umask)
    shutil.rmtree(scratch / "work")
    return scratch / "dist" / PLUGIN


def _settled(source: Source, site: Path, scratch: Path) -> dict[str, str]:
    settled = USUAL.environment(source.seconds)
    return settled | {"PYTHONPATH": str(site), "PYINSTALLER_CONFIG_DIR": str(scratch / "cache")}
