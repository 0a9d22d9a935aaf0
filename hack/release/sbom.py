"""The bill of materials: what a release is run with, and what the page bundles, as CycloneDX.

cyclonedx-bom reads the lock of Python packages. The page's packages are those whose licenses are beside it, with the
hashes of npm's lock.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hack.release import archives
from hack.release.archives import Entry
from hack.release.errors import ReleaseError
from hack.release.running import USUAL, run
from hack.release.source import Source
from hack.release.tools import RUNTIME, environment

__all__ = ["bundled", "check", "complete", "locked", "make"]

Json = dict[str, Any]
LOCK: Final = "web/app/package-lock.json"
PACKAGE: Final = re.compile(r"^([A-Za-z0-9][\w.-]*)==([\w.!+]+)", re.MULTILINE)
HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
NODE_MODULES: Final = "node_modules/"
SPECIFICATION: Final = "1.6"


def make(source: Source, tree: Path, version: str, wheel: Path, dist: Path) -> Path:
    """Write the file, and check it against the locks. Raises ReleaseError."""
    page = bundled(_licenses(archives.of_zip(wheel)), json.loads((tree / LOCK).read_text()))
    requirements = (tree / RUNTIME).read_text()
    bom = complete(_of_requirements(source, tree), page, version)
    check(bom, locked(requirements), page)
    path = dist / f"reprieve-{version}.cdx.json"
    path.write_text(json.dumps(bom, indent=2, sort_keys=True) + "\n")
    return path


def _of_requirements(source: Source, tree: Path) -> Json:
    program = environment(source.root) / "bin" / "cyclonedx-py"
    command = (program, "requirements", tree / RUNTIME, "--pyproject", tree / "pyproject.toml")
    options = ("--output-reproducible", "--of", "JSON", "--sv", SPECIFICATION)
    bom: Json = json.loads(run(*command, *options, env=USUAL.environment(source.seconds)))
    return bom


def locked(requirements: str) -> dict[str, set[str]]:
    """The hashes of each package of a lock, by name@version."""
    heads = list(PACKAGE.finditer(requirements))
    ends = [head.start() for head in heads[1:]] + [len(requirements)]
    return {
        f"{head[1]}@{head[2]}": set(HASH.findall(requirements, head.end(), end))
        for head, end in zip(heads, ends, strict=True)
    }


def bundled(licenses: str, lock: Json) -> list[Json]:
    """A component for each package whose license is beside the page. Raises ReleaseError if the lock has no hash."""
    components = []
    for path, package in sorted(lock["packages"].items()):
        name = path.rpartition(NODE_MODULES)[2]
        if not name or f"{name} {package.get('version')} ({package.get('license')})\n" not in licenses:
            continue
        if "integrity" not in package:
            raise ReleaseError(f"{LOCK} has no hash of {name}")
        algorithm, _, digest = package["integrity"].partition("-")
        purl = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
        components.append(
            {
                "bom-ref": purl,
                "type": "library",
                "name": name,
                "version": package["version"],
                "purl": purl,
                "licenses": [{"license": {"id": package["license"]}}],
                "hashes": [
                    {
                        "alg": algorithm.upper().replace("SHA", "SHA-"),
                        "content": base64.b64decode(digest).hex(),
                    }
                ],
            }
        )
    return components


def complete(bom: Json, page: list[Json], version: str) -> Json:
    """What cyclonedx-bom has made, with the page's packages, and names in place of lines of a file.

    It names an index for each package, although any mirror may serve the file: the hashes say which file it is.
    """
    references: dict[str, str] = {}
    components = []
    for component in bom["components"]:
        references[component["bom-ref"]] = component["purl"]
        files = [dict(each, url=component["purl"]) for each in component.get("externalReferences", ())]
        for each in files:
            each["comment"] = "the files that the lock allows"
        components.append(
            {key: value for key, value in component.items() if key != "description"}
            | {"bom-ref": component["purl"], "externalReferences": files}
        )
    itself = dict(bom["metadata"]["component"], version=version, purl=f"pkg:pypi/reprieve@{version}")
    references[itself["bom-ref"]] = itself["purl"]
    itself["bom-ref"] = itself["purl"]
    tools = [
        {key: value for key, value in each.items() if key != "externalReferences"}
        for each in bom["metadata"].get("tools", {}).get("components", ())
    ]
    every = sorted([*components, *page], key=lambda each: str(each["purl"]))
    depends = [{"ref": itself["purl"], "dependsOn": [each["purl"] for each in every]}]
    return dict(
        bom,
        metadata=dict(bom["metadata"], component=itself, tools={"components": tools}),
        components=every,
        dependencies=[*depends, *({"ref": each["purl"]} for each in every)],
    )


def check(bom: Json, requirements: Mapping[str, set[str]], page: list[Json]) -> None:
    """Raises ReleaseError unless there is a component with its hashes for each line of the lock, and for the page."""
    found = {each["purl"]: _hashes(each) for each in bom["components"]}
    wanted = {f"pkg:pypi/{name}": hashes for name, hashes in requirements.items()}
    wanted |= {each["purl"]: _hashes(each) for each in page}
    wrong = [name for name, hashes in wanted.items() if not hashes or found.get(name) != hashes]
    wrong += found.keys() - wanted.keys()
    if wrong or not page or not requirements:
        raise ReleaseError(f"the bill of materials is not what the locks say: {', '.join(wrong[:10])}")


def _hashes(component: Json) -> set[str]:
    return set(_each_hash(component))


def _each_hash(component: Json) -> Iterator[str]:
    for holder in (component, *component.get("externalReferences", ())):
        yield from (each["content"] for each in holder.get("hashes", ()))


def _licenses(wheel: Mapping[str, Entry]) -> str:
    manifest = json.loads(wheel["web/static/manifest.json"].content)
    return wheel[f"web/static/{manifest['licenses']}"].content.decode()
