"""docs/doctor.md has each fault, with its level and its remedy."""

from __future__ import annotations

import re
from pathlib import Path

from answers.doctor.findings import FAULTS
from answers.reading.node_objects import OWNER_KINDS
from answers.reading.seen import SeenObjects

PAGE = Path("docs/doctor.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)


def test_the_page_has_each_fault_and_no_other() -> None:
    assert [(name, level, remedy) for name, level, remedy in ROW.findall(PAGE)] == [
        (name, each.level, each.remedy) for name, each in FAULTS.items()
    ]


def test_the_command_for_a_file_has_each_kind() -> None:
    (listed,) = re.findall(r"kubectl get -A -o json (\S+)", PAGE)
    plurals = {plural.partition(".")[0] for plural in listed.split(",")}
    everywhere = SeenObjects.kinds.keys() - OWNER_KINDS.keys()  # kubectl ends at a kind that is not installed
    assert plurals == {f"{kind.lower()}s" for _, kind in everywhere}
