"""What a wheel may not have, and must have."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest

from hack.release import packages
from hack.release.archives import Entry, zipped
from hack.release.errors import ReleaseError
from hack.release.running import OTHERS, USUAL

PAGE = {
    "web/static/manifest.json": Entry(
        json.dumps({"script": "page-A.js", "licenses": "licenses-B.txt"}).encode()
    ),
    "web/static/index.html": Entry(b""),
    "web/static/page-A.js": Entry(b""),
    "web/static/licenses-B.txt": Entry(b""),
}


def test_a_folder_of_this_machine_is_found_in_a_file() -> None:
    files = {"good": Entry(b"/build/someone/elsewhere"), "bad.so": Entry(b"\0/build/tree/native/_units.c\0")}
    with pytest.raises(ReleaseError, match=r"bad\.so names a folder of this machine: /build/tree"):
        packages.check_paths(files, [Path("/build/tree"), Path("/build/some")])


def test_the_root_of_the_machine_is_no_folder() -> None:
    packages.check_paths({"a": Entry(b"/usr/bin/env")}, [Path("/")])


def test_a_wheel_with_its_page_is_good() -> None:
    packages.check_page(PAGE)


@pytest.mark.parametrize("name", PAGE)
def test_what_a_wheel_lacks_of_the_page_is_named(name: str) -> None:
    with pytest.raises(ReleaseError, match=name.rpartition("/")[2]):
        packages.check_page({each: entry for each, entry in PAGE.items() if each != name})


def test_a_page_without_licenses_is_refused() -> None:
    names = Entry(json.dumps({"script": "page-A.js"}).encode())
    with pytest.raises(ReleaseError, match="licenses"):
        packages.check_page({**PAGE, "web/static/manifest.json": names})


def test_two_builds_that_differ_say_in_what() -> None:
    one, other = (
        zipped({"a.so": Entry(b"1"), "b": Entry(b"")}, 0),
        zipped({"a.so": Entry(b"2"), "b": Entry(b"")}, 0),
    )
    with pytest.raises(ReleaseError, match=r"two builds of x\.whl differ in a\.so$"):
        packages.check_same("x.whl", one, other)
    packages.check_same("x.whl", one, one)


def test_an_artefact_of_one_build_alone_is_refused() -> None:
    with pytest.raises(ReleaseError, match="one build has not made it"):
        packages.check_same("x.whl", zipped({"a": Entry(b"")}, 0), b"")


def test_the_second_build_has_other_conditions() -> None:
    usual, others = vars(USUAL), vars(OTHERS)
    assert [name for name in usual if usual[name] == others[name]] == []
    first, second = USUAL.environment(1), OTHERS.environment(1)
    assert {name for name in first if first[name] != second[name]} == {"LC_ALL", "TZ", "PYTHONHASHSEED"}


def test_flags_of_the_caller_do_not_get_into_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-g3")
    monkeypatch.setenv("LC_TIME", "tr_TR")
    assert not {"CFLAGS", "LC_TIME"} & USUAL.environment(1).keys()


def test_kernels_are_optimized_as_usual_and_have_no_debug_information() -> None:
    """setuptools leaves out its own flags if there are others."""
    flags = packages.compiler_flags().split()
    assert set(str(sysconfig.get_config_var("CFLAGS")).split()) <= set(flags)
    assert flags[-1] == "-g0"
