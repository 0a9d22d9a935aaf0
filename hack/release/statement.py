"""The sums of all files, and a statement of what they were made from.

The statement is in-toto's, with a predicate like SLSA's provenance. Nobody has signed it: whoever releases signs it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from hack.release.errors import ReleaseError
from hack.release.source import Source
from hack.release.tools import RELEASE, RUNTIME

__all__ = ["LOCKS", "SUMS", "check", "digest", "make", "statement"]

SUMS: Final = "SHA256SUMS"
TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "https://slsa.dev/provenance/v1"
BUILD: Final = "https://reprieve.dev/release/v1"
"""Names the way of building: `make release`, as docs/releasing.md tells."""
BUILDER: Final = "https://reprieve.dev/release/unsigned"
"""Whoever signs the statement says who they are."""
LOCKS: Final = (RUNTIME, RELEASE, "requirements/web.txt", "web/app/package-lock.json", "release/bases.env")
"""What the release was made with."""
LINE: Final = re.compile(r"([0-9a-f]{64})  (.+)")


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make(source: Source, version: str, dist: Path, images: Mapping[str, str]) -> list[Path]:
    """Write the statement about all files of the folder and some images, and the sums of all files."""
    files = {path.name: digest(path) for path in sorted(dist.iterdir())}
    locks = {name: digest(source.root / name) for name in LOCKS}
    path = dist / f"reprieve-{version}.intoto.json"
    body = statement({**files, **images}, source, version, locks)
    path.write_text(json.dumps(body, indent=2, sort_keys=True) + "\n")
    sums = dist / SUMS
    sums.write_text(_sums([*map(dist.joinpath, files), path]))
    check(dist)
    return [path, sums]


def statement(
    subjects: Mapping[str, str], source: Source, version: str, locks: Mapping[str, str]
) -> dict[str, Any]:
    """The statement. `subjects` and `locks` have the SHA-256 by name."""
    materials: list[dict[str, Any]] = [{"name": "reprieve", "digest": {"gitCommit": source.commit}}]
    materials += [{"name": name, "digest": {"sha256": locks[name]}} for name in sorted(locks)]
    return {
        "_type": TYPE,
        "subject": [{"name": name, "digest": {"sha256": subjects[name]}} for name in sorted(subjects)],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD,
                "externalParameters": {"version": version},
                "internalParameters": {"SOURCE_DATE_EPOCH": source.seconds},
                "resolvedDependencies": materials,
            },
            "runDetails": {"builder": {"id": BUILDER}},
        },
    }


def _sums(paths: Iterable[Path]) -> str:
    return "".join(f"{digest(path)}  {path.name}\n" for path in sorted(paths))


def check(dist: Path) -> None:
    """Read sums and statement again. Raises ReleaseError if a file is not as they say, or they do not have it."""
    listed = {
        match[2]: match[1]
        for line in (dist / SUMS).read_text().splitlines()
        if (match := LINE.fullmatch(line)) is not None
    }
    there = {path.name: digest(path) for path in dist.iterdir() if path.name != SUMS}
    wrong = sorted(name for name in listed.keys() | there.keys() if listed.get(name) != there.get(name))
    (stated,) = dist.glob("*.intoto.json")
    subjects = {each["name"]: each["digest"]["sha256"] for each in json.loads(stated.read_text())["subject"]}
    wrong += sorted(
        name for name, found in there.items() if name != stated.name and subjects.get(name) != found
    )
    if wrong:
        raise ReleaseError(f"{dist} is not what {SUMS} and {stated.name} say: {', '.join(wrong)}")
