"""The sources of the page: node's own tests, and what they have in common with the command. They need no browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any, Final

import pytest

from cli.common.printable import one_line
from cli.why.render import ALWAYS, WORDS
from hack.page import APP, node, unit_tests

FACTS: Final = (
    "import { ALWAYS, WORDS } from './src/facts.ts'; value = { words: [...WORDS], always: [...ALWAYS] }"
)
ESCAPES: Final = "import { printable } from './src/printable.ts'; value = input.map(printable)"


@pytest.fixture(autouse=True)
def _has_node() -> None:
    try:
        node()
    except FileNotFoundError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{error}")


def run(script: str, given: object = None) -> Any:
    """The value that a module of the sources gives."""
    text = (
        "import { readFileSync } from 'node:fs'; const input = JSON.parse(readFileSync(0, 'utf8')); let value;"
        f"{script}; process.stdout.write(JSON.stringify(value));"
    )
    command = [str(node()), "--input-type=module", "--eval", text]
    printed = subprocess.run(
        command, cwd=APP, input=json.dumps(given), capture_output=True, text=True, check=True
    )
    return json.loads(printed.stdout)


def test_the_tests_of_the_sources_pass() -> None:
    assert unit_tests() == 0


def test_characters_are_escaped_as_by_the_command() -> None:
    known = [
        chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cn", "Cs")
    ]
    chars = [char for char in known if char not in "\t\n\r"] + ["\t", "\n", "\r"]
    assert run(ESCAPES, chars) == [one_line(char) for char in chars]


def test_numbers_have_the_words_of_the_command() -> None:
    found = run(FACTS)
    assert dict(found["words"]) == dict(WORDS)
    assert set(found["always"]) == ALWAYS


def test_no_lock_names_a_registry() -> None:
    lock = json.loads((APP / "package-lock.json").read_text())
    packages = {name: each for name, each in lock["packages"].items() if name}
    assert [name for name, each in packages.items() if "resolved" in each] == []
    assert [name for name, each in packages.items() if not each["integrity"].startswith("sha512-")] == []
    assert "//" not in Path(APP, ".npmrc").read_text()
