"""The page is built from its sources alone: the same bytes each time, with the licenses of what is bundled."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hack.page import APP, ROOT, build, node


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a build in a folder of its own."""
    try:
        node()
    except FileNotFoundError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{error}")
    folder = tmp_path_factory.mktemp("page") / "static"
    build(APP, folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """By name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_copy_of_the_sources_elsewhere_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "app"
    shutil.copytree(APP, copy, ignore=shutil.ignore_patterns("node_modules"))
    (copy / "node_modules").symlink_to(APP / "node_modules")
    build(copy, tmp_path / "static")
    assert contents(tmp_path / "static") == contents(built)


def test_an_older_build_leaves_nothing_behind(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "static")
    (tmp_path / "static" / "page-OLD.js").write_text("old")
    build(APP, tmp_path / "static")
    assert contents(tmp_path / "static") == contents(built)


def test_the_index_names_files_by_their_hash_and_relative_paths(built: Path) -> None:
    index = (built / "index.html").read_text()
    names = json.loads((built / "manifest.json").read_text())
    assert set(names) == {"script", "style", "licenses"}
    for name in names.values():
        assert re.fullmatch(r"[a-z]+-[0-9A-Z]{8,}\.(js|css|txt)", name)
        assert (built / name).is_file()
    assert f'src="static/{names["script"]}"' in index
    assert f'href="static/{names["style"]}"' in index
    assert re.findall(r"""(?:src|href)=["'](?!static/)""", index) == []
    assert re.findall(r"<style|\sstyle=|<script>|\son\w+=", index) == []


def test_nothing_in_it_is_from_elsewhere(built: Path) -> None:
    for name, content in contents(built).items():
        if name.endswith((".js", ".css", ".html")):
            found = re.findall(rb"https?://[\w.-]+", content)
            assert set(found) <= {b"http://www.w3.org"}, name  # names of namespaces


def test_the_licenses_of_what_is_bundled_are_there(built: Path) -> None:
    name = json.loads((built / "manifest.json").read_text())["licenses"]
    text = (built / name).read_text()
    for package in ("preact", "@preact/signals", "@preact/signals-core", "@tanstack/virtual-core"):
        assert re.search(rf"^{re.escape(package)} \d+\.\d+\.\d+ \(MIT\)$", text, re.MULTILINE), package
    assert "esbuild" not in text


def test_it_is_small(built: Path) -> None:
    """The aim is 120 kB gzipped; this bound without gzip only finds what was bundled by mistake."""
    assert (
        sum(len(content) for name, content in contents(built).items() if name.endswith((".js", ".css")))
        < 300_000
    )


def test_no_file_names_a_registry() -> None:
    """The configuration of pip and npm says where packages come from. The names are in parts, so this file has none."""
    hosts = ["npmjs" + ".org", "npmjs" + ".com", "yarnpkg" + ".com", "pypi" + ".org", "pythonhosted" + ".org"]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("these sources are in no repository")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    naming = [
        path for path in files if path.is_file() and any(each.encode() in path.read_bytes() for each in hosts)
    ]
    assert naming == []
