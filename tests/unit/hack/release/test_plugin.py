"""What krew reads."""

from __future__ import annotations

import re
from pathlib import Path

from hack.release import plugin
from hack.release.archives import Entry

FOUND = plugin.manifest("1.2.3", "https://registry.example/reprieve/v1.2.3/x.tar.gz", "a" * 64)


def test_krew_accepts_name_and_version() -> None:
    assert FOUND["metadata"]["name"] == "reprieve"
    assert re.fullmatch(r"v\d+\.\d+\.\d+", FOUND["spec"]["version"])


def test_the_archive_is_of_one_platform_and_has_its_sum() -> None:
    (platform,) = FOUND["spec"]["platforms"]
    assert platform["selector"] == {"matchLabels": {"os": "linux", "arch": "amd64"}}
    assert (platform["sha256"], platform["bin"]) == ("a" * 64, "kubectl-reprieve")


def test_the_short_description_fits_a_line_of_krew() -> None:
    """krew's own checks of an index ask for this."""
    assert len(FOUND["spec"]["shortDescription"]) <= 50
    assert not FOUND["spec"]["shortDescription"].endswith(".")


def test_every_module_and_file_of_a_wheel_gets_into_the_folder() -> None:
    names = ["cli/__init__.py", "cli/plan/command.py", "native/_units.cpython-311-x86_64-linux-gnu.so"]
    others = ["native/_units.pyx", "native/_units.pyi", "reprieve-1.2.3.dist-info/RECORD"]
    data = ["cli/report/page.html"]
    assert plugin.parts([*names, *others, *data], Path("/site")) == [
        "--hidden-import=cli",
        "--hidden-import=cli.plan.command",
        "--add-data=/site/cli/report/page.html:cli/report",
        "--hidden-import=native._units",
    ]


def test_what_an_installer_wrote_does_not_get_into_the_archive() -> None:
    """RECORD has the hash of each command, and a command names the folder of its Python."""
    kept = {f"_internal/a-1.dist-info/{name}": Entry(b"") for name in ("METADATA", "licenses/LICENSE")}
    left_out = {
        f"_internal/a-1.dist-info/{name}": Entry(b"") for name in ("RECORD", "INSTALLER", "direct_url.json")
    }
    assert plugin.without_installers(kept | left_out) == kept
