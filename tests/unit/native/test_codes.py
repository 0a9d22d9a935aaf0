"""The codes of the kernels: one table, which compiled code and twins repeat."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

from api.disruption import ScoreTerm
from native import codes
from tests.twins.nodes import packing, problem
from tests.twins.quota import quotas

NATIVE = Path(__file__).parents[3] / "native"
TABLE = {name: getattr(codes, name) for name in codes.__all__}
ENTRY = re.compile(r"^    ([A-Z_]+) = (-?\d+)\b", re.MULTILINE)


def test_the_kernels_table_is_the_same() -> None:
    entries = ENTRY.findall((NATIVE / "codes.pxd").read_text())
    assert {name: int(value) for name, value in entries} == TABLE
    assert len(entries) == len(TABLE)


def test_no_kernel_has_codes_of_its_own() -> None:
    """A value that only one kernel knows is no code."""
    kernels = [path for path in NATIVE.glob("*/*.p[yx][xd]") if path.suffix in (".pyx", ".pxd")]
    found = {path.name: ENTRY.findall(path.read_text()) for path in kernels}
    repeated = {
        name: each for name, entries in found.items() if (each := [e for e in entries if e[0] in TABLE])
    }
    assert len(kernels) > 15
    assert repeated == {}


def test_a_score_has_room_for_all_optional_terms() -> None:
    """The kernels keep them in an array of this length."""
    (length,) = re.findall(
        r"^    TERMS = (\d+)", (NATIVE / "nodes" / "_domain.pxd").read_text(), re.MULTILINE
    )
    assert int(length) == len(get_args(ScoreTerm))


@pytest.mark.parametrize("twin", [packing, problem, quotas], ids=lambda twin: twin.__name__)
def test_the_twins_repeat_it(twin: ModuleType) -> None:
    mine = {name: value for name, value in vars(twin).items() if name in TABLE}
    assert mine
    assert mine == {name: TABLE[name] for name in mine}
