"""docs/doctor.md has each fault, with its level and its remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from answers.doctor.findings import FAULTS
from answers.reading.node_objects import OWNER_KINDS
from answers.reading.seen import CLUSTERS, SeenObjects

PAGE = Path("docs/doctor.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)


def test_the_page_has_each_fault_and_no_other() -> None:
    assert [(name, level, remedy) for name, level, remedy in ROW.findall(PAGE)] == [
        (name, each.level, each.remedy) for name, each in FAULTS.items()
    ]


def kinds_of(listed: str) -> set[str]:
    """The plurals, without their groups."""
    return {plural.partition(".")[0] for plural in listed.split(",")}


def plurals(kinds: Iterable[tuple[str, str]]) -> set[str]:
    return {f"{kind.lower()}s" for _, kind in kinds}


def test_the_command_for_a_file_has_each_kind() -> None:
    (listed,) = re.findall(r"^kubectl get -A -o json (\S+)", PAGE, re.MULTILINE)
    # kubectl ends at a kind that is not installed
    assert kinds_of(listed) == plurals(SeenObjects.kinds.keys() - OWNER_KINDS.keys() - CLUSTERS.keys())


def test_the_command_for_a_manager_has_each_kind() -> None:
    (listed,) = re.findall(r"`kubectl get (\S+) -A -o json`", PAGE)
    assert kinds_of(listed) == plurals(CLUSTERS)
