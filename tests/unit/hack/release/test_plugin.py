"""What krew reads."""

from __future__ import annotations

import re

from hack.release import plugin

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
