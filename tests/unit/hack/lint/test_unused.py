"""The check of unused definitions finds planted faults, and only those."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.lint.unused import faults


def checkout(root: Path, **files: str) -> Path:
    """A checkout with a script, and with these files: the path has `__` for `/`."""
    (root / "pyproject.toml").write_text('[project.scripts]\nreprieve = "cli.main:main"\n')
    for name, text in {"cli__main": "def main() -> None: ...\n", **files}.items():
        path = (root / name.replace("__", "/")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def found(root: Path, **files: str) -> list[str]:
    return list(faults(checkout(root, **files), {}))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def lost() -> None:\n    lost()\n", "1: lost"),
        ("LOST = 1\n", "1: LOST"),
        ("__all__ = ['lost']\n\n\ndef lost() -> None: ...\n", "4: lost"),
        ("class Lost: ...\n", "1: Lost"),
        ("def a() -> None:\n    lost = 1\n    return lost\n\n\ndef lost() -> None: ...\n\n\na()\n", ""),
        ("class A:\n    def lost(self) -> None: ...\n\n\nA()\n", "2: lost"),
        ("class A:\n    @property\n    def lost(self) -> int: ...\n\n\nA()\n", "2: lost"),
    ],
)
def test_what_only_tests_use_is_a_fault(tmp_path: Path, text: str, fault: str) -> None:
    tests = "from api.thing import lost\n\nlost()\nlost.lost.Lost.LOST\n"
    expected = [f"api/thing.py:{fault} is not used, or only by tests"] if fault else []
    assert found(tmp_path, api__thing=text, tests__test_thing=tests) == expected


def test_a_name_that_another_module_has_is_no_use(tmp_path: Path) -> None:
    """vulture alone would take the local variable of the other module for it."""
    other = "def main() -> None:\n    lost = 1\n    print(lost)\n"
    assert found(tmp_path, api__thing="def lost() -> None: ...\n", cli__main=other) == [
        "api/thing.py:1: lost is not used, or only by tests"
    ]


@pytest.mark.parametrize(
    "use",
    [
        {"bench__a": "from api.thing import kept\n"},
        {"hack__a": "from api import thing\n\nthing.kept()\n"},
        {"nodes__a": "import api.thing\n\napi.thing.kept()\n"},
    ],
    ids=["bench", "hack", "product"],
)
def test_what_the_product_or_its_tools_use_is_none(tmp_path: Path, use: dict[str, str]) -> None:
    assert found(tmp_path, api__thing="def kept() -> None: ...\n", **use) == []


def test_fields_commands_and_kernels_count_as_used(tmp_path: Path) -> None:
    fields = "import msgspec\n\n\nclass Wire(msgspec.Struct): ...\n\n\nclass A(Wire):\n    said: int\n\n\nprint(A)\n"
    command = "import click\n\n\n@click.command()\ndef say() -> None: ...\n"
    kernel = tmp_path / "native" / "_kernel.pyx"
    kernel.parent.mkdir()
    kernel.write_text("from native.table import Found\n\nprint(Found.column)\n")
    table = "from typing import NamedTuple\n\n\nclass Found(NamedTuple):\n    column: int\n"
    main = 'COMMANDS = {"say": "cli.say"}\n\n\ndef main() -> None:\n    print(COMMANDS)\n'
    assert found(tmp_path, api__a=fields, cli__say=command, cli__main=main, native__table=table) == []


def test_a_function_in_all_that_nobody_imports_is_a_fault(tmp_path: Path) -> None:
    text = '__all__ = ["inner", "main"]\n\n\ndef inner() -> None: ...\n\n\ndef main() -> None:\n    inner()\n'
    fault = "cli/main.py:1: nobody imports inner, which stands in __all__"
    assert found(tmp_path, cli__main=text) == [fault]
    assert found(tmp_path, cli__main=text, tests__a="from cli.main import inner\n") == []


def test_an_entry_of_the_list_that_is_not_needed_is_a_fault(tmp_path: Path) -> None:
    root = checkout(tmp_path, api__thing="LOST = 1\n")
    known = {"api/thing.py:LOST": "a reason", "api/thing.py:OTHER": "another one"}
    assert list(faults(root, known)) == ["hack/lint/unused.py: api/thing.py:OTHER need not be allowed"]
