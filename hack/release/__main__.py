"""Make a release: `python -m hack.release`. It ends with 1 if it makes none."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, TypeVar

import click

from hack import comparison
from hack.controlplane.binaries import BinariesError
from hack.controlplane.processes import ProcessFailedError
from hack.release import (
    charts,
    image,
    manifests,
    packages,
    plugin,
    sbom,
    source,
    standin,
    statement,
    versions,
)
from hack.release.errors import ReleaseError
from hack.release.trials import cluster, installed
from hack.release.trials import image as image_trial

ROOT: Final = Path(__file__).resolve().parents[2]
URL: Final = "https://registry.example/reprieve"
"""Stands for the folder from which people download a release."""
Made = TypeVar("Made")


@dataclass
class Release:
    """A release that is being made in a folder of its own."""

    source: source.Source
    version: str
    scratch: Path
    dist: Path
    url: str
    with_image: bool
    images: dict[str, str] = field(default_factory=dict)
    """The digests of images by their names."""

    def __post_init__(self) -> None:
        self.tree = self.source.export(self.scratch / "tree")

    def make(self) -> None:
        """Make all artefacts, and use each of them. Raises ReleaseError."""
        _, wheel = step("sdist and wheel, twice", self._packages)
        folders, crds = step("manifests and CRDs", self._manifests)
        packed = step("charts", lambda: charts.make(self.source, self.tree, self.scratch, self.dist))
        archive, manifest = step("plugin", lambda: self._plugin(wheel))
        step("bill of materials", lambda: sbom.make(self.source, self.tree, self.version, wheel, self.dist))
        step("trial: wheel and plugin", lambda: self._installed(wheel, archive, manifest))
        step("trial: CRDs, manifests, charts", lambda: self._cluster(crds, folders, packed))
        if self.with_image:
            step("image, and its trial", lambda: self._image(crds, folders))
        step("statement and sums", self._statement)

    def _packages(self) -> tuple[Path, Path]:
        made = packages.make(self.source, self._folder("packages"), self.dist)
        sdist, wheel = sorted(made, key=lambda path: path.suffix == ".whl")
        return sdist, wheel

    def _manifests(self) -> tuple[Path, Path]:
        folders, crds = manifests.make(
            self.source, self.tree, self.version, self._folder("manifests"), self.dist
        )
        return folders, crds

    def _plugin(self, wheel: Path) -> tuple[Path, Path]:
        scratch = self._folder("plugin")
        url = f"{self.url}/v{self.version}"
        archive, manifest = plugin.make(self.source, self.tree, self.version, wheel, url, scratch, self.dist)
        return archive, manifest

    def _installed(self, wheel: Path, archive: Path, manifest: Path) -> None:
        scratch = self._folder("installed")
        plans = {
            installed.wheel(self.tree, wheel, scratch),
            installed.plugin(self.tree, archive, manifest, scratch),
        }
        if len(plans) > 1:
            raise ReleaseError("wheel and plugin plan differently for an example")

    def _cluster(self, crds: Path, folders: Path, packed: list[Path]) -> None:
        scratch = self._folder("cluster")
        with cluster.plane(scratch / "plane") as plane:
            cluster.applied(crds, folders, plane, scratch / "manifests")
        if packed:
            with cluster.plane(scratch / "helm") as plane:
                cluster.charts(packed, self.version, plane)

    def _image(self, crds: Path, folders: Path) -> None:
        """Make the image if there are digests of its bases. If not, prove the Dockerfile on bases that stand in."""
        chosen = image.bases(self.tree / image.BASES)
        lacks = image.missing("buildah") if chosen else standin.needed()
        if not chosen:
            say(f"no digest in {image.BASES}, so this release has no image")
        if lacks:
            say(f"the image is not tried: this machine lacks {', '.join(lacks)}")
            if chosen:
                raise ReleaseError(f"{image.BASES} has digests, and no image can be built")
            return
        store = image.Store(self._folder("image"))
        try:
            name = f"reprieve:{self.version}"
            digest = image.build_twice(
                store, self.source, chosen or standin.bases(store, self.source.seconds), name
            )
            say(f"{name} is {digest}, both times")
            self._try_image(store, name, crds, folders)
            if chosen:
                image.write(store, name, self.source.seconds, self.dist)
                self.images[name] = digest.removeprefix("sha256:")
        finally:
            store.remove()

    def _try_image(self, store: image.Store, name: str, crds: Path, folders: Path) -> None:
        scratch = self._folder("served")
        with store.mounted(name) as root, cluster.plane(scratch / "plane") as plane:
            image_trial.lean(root)
            cluster.applied(crds, folders, plane, scratch / "manifests")
            image_trial.serves(root, plane, scratch)

    def _statement(self) -> None:
        statement.make(self.source, self.version, self.dist, self.images)

    def _folder(self, name: str) -> Path:
        folder = self.scratch / name
        folder.mkdir()
        return folder


def say(text: str) -> None:
    """Say something about the step that runs."""
    click.echo(f"  {text}")


def step(name: str, act: Callable[[], Made]) -> Made:
    """Run a step, and say how long it took."""
    click.echo(name)
    start = time.monotonic()
    made = act()
    say(f"{time.monotonic() - start:.0f} s")
    return made


def current(today: date) -> None:
    """Raises ReleaseError if docs/comparison.md has a cell without source, or with one that was checked long ago."""
    found = comparison.check(today)
    if found:
        raise ReleaseError("docs/comparison.md:" + "".join(f"\n  {each}" for each in found))


@contextmanager
def scratch_of_a_release() -> Iterator[Path]:
    """A folder that goes afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="reprieve-release-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--dist",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "dist",
    show_default="dist",
    help="The folder of the release. What is there goes first.",
)
@click.option("--url", default=URL, show_default=True, help="The folder from which people will download it.")
@click.option(
    "--image/--no-image", "with_image", default=True, help="Make the image, or at least try the Dockerfile."
)
def main(dist: Path, url: str, with_image: bool) -> None:
    """Make a release of the commit of this checkout."""
    start = time.monotonic()
    try:
        commit = source.read(ROOT)
        version = versions.agreed(ROOT, commit.tags)
        current(datetime.now(UTC).date())
        click.echo(f"reprieve {version}, commit {commit.commit}")
        with scratch_of_a_release() as scratch:
            made = scratch / "dist"
            made.mkdir()
            Release(commit, version, scratch, made, url, with_image).make()
            shutil.rmtree(dist, ignore_errors=True)
            shutil.copytree(made, dist)
            statement.check(dist)
    except (ReleaseError, BinariesError, ProcessFailedError) as error:
        click.echo(f"no release: {error}", err=True)
        sys.exit(1)
    click.echo(f"{dist} is complete, after {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main(prog_name="python -m hack.release")
