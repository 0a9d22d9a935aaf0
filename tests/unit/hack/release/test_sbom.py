"""The bill of materials has every line of both locks, with hashes."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest

from hack.release import sbom
from hack.release.errors import ReleaseError

ROOT = Path(__file__).parents[4]
A, B = "a" * 64, "b" * 64
REQUIREMENTS = f"""\
one==1.0 \\
    --hash=sha256:{A} \\
    --hash=sha256:{B}
    # via two
two-x==2.0rc1 ; os_name == 'nt' \\
    --hash=sha256:{B}
"""
DIGEST = bytes(range(64))
LOCK: dict[str, Any] = {
    "packages": {
        "": {"name": "page"},
        "node_modules/@scope/small": {
            "version": "3.0.0",
            "license": "MIT",
            "integrity": f"sha512-{base64.b64encode(DIGEST).decode()}",
        },
        "node_modules/compiler": {
            "version": "4.0.0",
            "license": "MIT",
            "integrity": "sha512-AAAA",
            "dev": True,
        },
    }
}
LICENSES = "@scope/small 3.0.0 (MIT)\n\nPermission is granted ...\n"


def component(name: str, version: str, line: int, *hashes: str) -> dict[str, Any]:
    """As cyclonedx-bom writes it."""
    return {
        "bom-ref": f"requirements-L{line}",
        "description": f"requirements line {line}: {name}",
        "externalReferences": [
            {
                "comment": "implicit dist url",
                "type": "distribution",
                "url": "https://index.example/simple/",
                "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
            }
        ],
        "name": name,
        "purl": f"pkg:pypi/{name}@{version}",
        "type": "library",
        "version": version,
    }


BOM = {
    "bomFormat": "CycloneDX",
    "components": [component("one", "1.0", 1, A, B), component("two-x", "2.0rc1", 5, B)],
    "dependencies": [{"ref": "requirements-L1"}],
    "metadata": {
        "component": {"bom-ref": "root-component", "name": "reprieve", "type": "application"},
        "tools": {
            "components": [{"name": "maker", "externalReferences": [{"url": "https://index.example/maker"}]}]
        },
    },
}


def test_a_lock_is_read_with_its_hashes() -> None:
    assert sbom.locked(REQUIREMENTS) == {"one@1.0": {A, B}, "two-x@2.0rc1": {B}}


def test_every_line_of_our_lock_has_a_hash() -> None:
    locked = sbom.locked((ROOT / "requirements/runtime.txt").read_text())
    assert {"aiohttp", "uvloop"} <= {name.partition("@")[0] for name in locked}
    assert [name for name, hashes in locked.items() if not hashes] == []


def test_what_the_page_bundles_has_the_hash_of_npms_lock() -> None:
    (found,) = sbom.bundled(LICENSES, LOCK)
    assert found["purl"] == "pkg:npm/%40scope/small@3.0.0"
    assert found["hashes"] == [{"alg": "SHA-512", "content": DIGEST.hex()}]


def test_the_packages_of_our_page_are_those_of_its_lock() -> None:
    lock = json.loads((ROOT / sbom.LOCK).read_text())
    used = {path: each for path, each in lock["packages"].items() if path and not each.get("dev")}
    licenses = "".join(
        f"{path.rpartition('node_modules/')[2]} {each['version']} ({each['license']})\n"
        for path, each in used.items()
    )
    assert len(sbom.bundled(licenses, lock)) == len(used) > 3


def test_a_package_without_a_hash_is_refused() -> None:
    lock = copy.deepcopy(LOCK)
    del lock["packages"]["node_modules/@scope/small"]["integrity"]
    with pytest.raises(ReleaseError, match="no hash of @scope/small"):
        sbom.bundled(LICENSES, lock)


def made() -> dict[str, Any]:
    return sbom.complete(copy.deepcopy(BOM), sbom.bundled(LICENSES, LOCK), "1.2.3")


def test_a_complete_one_is_good_and_names_no_index() -> None:
    bom = made()
    sbom.check(bom, sbom.locked(REQUIREMENTS), sbom.bundled(LICENSES, LOCK))
    assert "index.example" not in json.dumps(bom)
    assert bom["metadata"]["component"]["version"] == "1.2.3"
    assert bom["metadata"]["tools"] == {"components": [{"name": "maker"}]}
    references = {each["bom-ref"] for each in bom["components"]} | {bom["metadata"]["component"]["bom-ref"]}
    assert {each["ref"] for each in bom["dependencies"]} == references


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_component_that_is_missing_is_named(index: int) -> None:
    bom = made()
    gone = bom["components"].pop(index)
    with pytest.raises(ReleaseError, match=gone["purl"]):
        sbom.check(bom, sbom.locked(REQUIREMENTS), sbom.bundled(LICENSES, LOCK))


def test_a_hash_that_is_missing_is_found() -> None:
    bom = made()
    one = next(each for each in bom["components"] if each["name"] == "one")
    one["externalReferences"][0]["hashes"].pop()
    with pytest.raises(ReleaseError, match=r"pkg:pypi/one@1\.0"):
        sbom.check(bom, sbom.locked(REQUIREMENTS), sbom.bundled(LICENSES, LOCK))


def test_a_component_of_no_lock_is_found() -> None:
    bom = made()
    bom["components"].append(component("three", "3", 9, A))
    with pytest.raises(ReleaseError, match="pkg:pypi/three@3"):
        sbom.check(bom, sbom.locked(REQUIREMENTS), sbom.bundled(LICENSES, LOCK))
