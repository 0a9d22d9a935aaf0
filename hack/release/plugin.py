"""kubectl's plugin: one folder with its own Python, as an archive, and the manifest with which krew installs it."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path
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

__all__ = ["PLUGIN", "make", "manifest"]

PLUGIN: Final = "kubectl-reprieve"
START: Final = "from cli.plugin import main\n\nmain()\n"
"""The program that PyInstaller puts into the folder."""
SUMMARY: Final = "Explain gang scheduling and preemption"
DESCRIPTION: Final = """\
Says why pods, PodGroups, Jobs and Workloads wait, who would be preempted for
them, what an observing reprieve would have done, and whether it works in a
cluster. It reads with your own rights, and writes only where you ask it to.
"""
CAVEATS: Final = """\
The commands that read plans and reports need reprieve's CRDs in the cluster.
"""


def make(
    source: Source, tree: Path, version: str, wheel: Path, url: str, scratch: Path, dist: Path
) -> list[Path]:
    """Write archive and manifest. `url` is the folder in which the archive will be. Raises ReleaseError."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise ReleaseError("the plugin is for linux/amd64, and made there")
    folder = _frozen(source, wheel, scratch / "plugin")
    files = archives.entries(folder, PLUGIN) | {"LICENSE": Entry((tree / "LICENSE").read_bytes())}
    check_paths(files, [scratch, source.root])
    archive = dist / f"{PLUGIN}-{version}-linux-amd64.tar.gz"
    archive.write_bytes(archives.tar_gz(files, source.seconds))
    described = dist / f"{PLUGIN}-{version}.krew.yaml"
    body = manifest(version, f"{url}/{archive.name}", digest(archive))
    described.write_text(yaml.safe_dump(body, sort_keys=False))
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


def _frozen(source: Source, wheel: Path, scratch: Path) -> Path:
    """The folder that PyInstaller makes of an unpacked wheel."""
    site = scratch / "site"
    archives.write(archives.of_zip(wheel), site)
    start = scratch / "start.py"
    start.write_text(START)
    packages = sorted(path.name for path in site.iterdir() if path.suffix == "")
    wanted = [f"--{what}={name}" for name in packages for what in ("collect-submodules", "collect-data")]
    run(
        *(python_of(environment(source.root)), "-m", "PyInstaller", "--onedir", "--noconfirm", "--clean"),
        *("--name", PLUGIN, "--paths", site, "--copy-metadata", "reprieve", *wanted),
        *("--distpath", scratch / "dist", "--workpath", scratch / "work", "--specpath", scratch, start),
        env=_settled(source, site, scratch),
        umask=USUAL.umask,
    )
    shutil.rmtree(scratch / "work")
    return scratch / "dist" / PLUGIN


def _settled(source: Source, site: Path, scratch: Path) -> dict[str, str]:
    settled = USUAL.environment(source.seconds)
    return settled | {"PYTHONPATH": str(site), "PYINSTALLER_CONFIG_DIR": str(scratch / "cache")}
