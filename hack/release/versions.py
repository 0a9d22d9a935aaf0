"""The version of a release: where it stands, and that it is the same everywhere."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from hack.release.errors import ReleaseError

__all__ = ["Stated", "agreed", "faults", "stated"]

PAGES: Final = ("Dockerfile", "README.md", "docs/*.md", "hack/kind/*.md", "charts/**/*.md", "charts/**/*.txt")
"""Files in which an image is named."""
IMAGE: Final = re.compile(r"\breprieve:v?(\d+\.\d+\.\d+[\w.+-]*)")
HEADING: Final = re.compile(r"^## \[?v?(\d+\.\d+\.\d+[\w.+-]*)\]?(?: |$)", re.MULTILINE)
"""Of a version in CHANGELOG.md."""
NAME: Final = "reprieve"
CHARTS: Final = "charts/*/Chart.yaml"


@dataclass(frozen=True)
class Stated:
    """A version, and where it stands."""

    place: str
    version: str


def agreed(root: Path, tags: Sequence[str] = ()) -> str:
    """The version. Raises ReleaseError if another one stands anywhere, or CHANGELOG.md has no heading for it."""
    version = _project(root)
    found = faults(version, root, tags)
    if found:
        raise ReleaseError(f"version {version} of pyproject.toml:" + "".join(f"\n  {each}" for each in found))
    return version


def faults(version: str, root: Path, tags: Sequence[str] = ()) -> list[str]:
    """What does not agree with a version, a line each."""
    lines = [f"{each.place} has {each.version}" for each in stated(root) if each.version != version]
    lines += [
        f"the commit has the tag {tag}" for tag in tags if re.match(r"v\d", tag) and tag != f"v{version}"
    ]
    if version not in HEADING.findall((root / "CHANGELOG.md").read_text()):
        lines.append(f'CHANGELOG.md has no heading "## {version}"')
    return lines


def stated(root: Path) -> list[Stated]:
    """Every place that states a version, but for pyproject.toml."""
    return [*_manifests(root), *_charts(root), *_pages(root)]


def _project(root: Path) -> str:
    version: str = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    return version


def _manifests(root: Path) -> Iterator[Stated]:
    for path in sorted((root / "manifests").rglob("*.yaml")):
        text = path.read_text()
        place = str(path.relative_to(root))
        if path.name == "kustomization.yaml":
            images: list[dict[str, Any]] = (yaml.safe_load(text) or {}).get("images", [])
            for image in images:
                if image.get("name") == NAME and "newTag" in image:
                    yield Stated(place, str(image["newTag"]))
        yield from (Stated(place, version) for version in IMAGE.findall(text))


def _charts(root: Path) -> Iterator[Stated]:
    for path in sorted(root.glob(CHARTS)):
        chart = yaml.safe_load(path.read_text())
        for field in ("version", "appVersion"):
            if field in chart:
                yield Stated(f"{path.relative_to(root)} ({field})", str(chart[field]))


def _pages(root: Path) -> Iterator[Stated]:
    for pattern in PAGES:
        for path in sorted(root.glob(pattern)):
            for version in IMAGE.findall(path.read_text()):
                yield Stated(str(path.relative_to(root)), version.rstrip("."))
