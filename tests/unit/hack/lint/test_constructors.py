"""The check of constructors finds a planted fault, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.lint.constructors import MOST, faults

NAMES = [f"a{number}" for number in range(MOST)]


def planted(root: Path, arguments: str) -> Path:
    """A checkout whose only class has a constructor with these arguments."""
    (root / "controllers" / "gangs").mkdir(parents=True)
    text = f"class Thing:\n    def __init__(self, {arguments}) -> None: ...\n"
    (root / "controllers" / "gangs" / "thing.py").write_text(text)
    return root


@pytest.mark.parametrize("last", ["b", "*, b", "b=1"])
def test_too_many_arguments_are_a_fault(tmp_path: Path, last: str) -> None:
    root = planted(tmp_path, ", ".join([*NAMES, last]))
    found = list(faults(root, {}))
    assert found == [
        f"controllers/gangs/thing.py:2: the constructor of Thing has {MOST + 1} arguments, and {MOST} is the most"
    ]


def test_seven_are_not(tmp_path: Path) -> None:
    assert list(faults(planted(tmp_path, ", ".join(NAMES)), {})) == []


def test_an_exception_is_a_class_that_needs_it(tmp_path: Path) -> None:
    root = planted(tmp_path, ", ".join([*NAMES, "b"]))
    known = {"controllers.gangs.thing.Thing": "a reason", "controllers.gangs.other.Other": "another one"}
    assert list(faults(root, known)) == [
        "hack/lint/constructors.py: controllers.gangs.other.Other needs no exception"
    ]
