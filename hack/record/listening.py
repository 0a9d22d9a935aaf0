"""Writes down what the tests of the commands ask: `pytest -p hack.record.listening tests/unit/cli tests/unit/docs`.

The questions stay in hack/record/asked.jsonl.xz, because tests change, and a record is compared with an older one.
"""

from __future__ import annotations

import lzma
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from click.testing import CliRunner, Result

from cli.common.documents import Document, JsonDocument
from cli.doctor.objects import Seen
from hack.record.asked import ASKED
from hack.record.asking import ROOT
from hack.record.cases import NOON, Case
from tests.unit.cli.doctor.healthy import NOW

MOST: Final = 20
"""Questions of one test. Some tests make them at random."""
READING: Final = ("plan", "quota", "queue", "why", "what-if", "diff", "who-evicted", "doctor", "validate")
"""Commands whose tests put nothing in place of the product."""


class Listener:
    """Keeps the questions, each once."""

    def __init__(self) -> None:
        self.cases: dict[str, Case] = {}
        self.test = ""
        self._asked: Counter[str] = Counter()

    def keep(self, case: Case) -> None:
        """Unless the test has asked enough."""
        self._asked[self.test] += 1
        if self._asked[self.test] <= MOST:
            self.cases[case.name] = case

    def invoked(self, arguments: Sequence[str], stdin: str | bytes | None) -> None:
        """A question that a test asks."""
        if not arguments or arguments[0] not in READING:
            return
        files: dict[str, str] = {}
        try:
            text = stdin.decode() if isinstance(stdin, bytes) else stdin
            words = tuple(_moved(word, files) for word in arguments)
        except UnicodeDecodeError:
            return
        self.keep(Case(words, text, files, moment=NOW if words[0] == "doctor" else NOON))

    def examined(self, document: Document) -> None:
        """A cluster that a test of doctor looks at without the command."""
        if isinstance(document, JsonDocument):
            text = bytes(document.raw).decode()
            self.keep(Case(("doctor", "-f", "cluster.json"), files={"cluster.json": text}, moment=NOW))

    def write(self) -> None:
        """Write all, in the order of their names."""
        lines = [msgspec.json.encode(case) + b"\n" for _, case in sorted(self.cases.items())]
        with lzma.open(ASKED, "wb", preset=9) as out:
            out.writelines(lines)


def _moved(word: str, files: dict[str, str]) -> str:
    """The word with a path that is right in the folder of a question. Files that are not in the checkout are kept."""
    path = Path(word)
    if not word or word.startswith("-") or not path.exists():
        return str(path.relative_to(ROOT)) if path.is_absolute() and path.is_relative_to(ROOT) else word
    whole = path.resolve()
    if whole.is_relative_to(ROOT):
        return os.path.relpath(whole, ROOT)
    name = f"{len(files)}-{path.name}" if path.name in files else path.name
    if path.is_file():
        files[name] = path.read_text()
    else:
        files.update({f"{name}/{each.name}": each.read_text() for each in path.iterdir() if each.is_file()})
    return name


LISTENER: Final = Listener()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Listen while a test runs."""
    LISTENER.test = item.nodeid
    invoke, add = CliRunner.invoke, Seen.add
    busy: list[bool] = []

    def listening(runner: CliRunner, command: Any, args: Any = None, **others: Any) -> Result:
        LISTENER.invoked(list(args or ()), others.get("input"))
        busy.append(True)
        try:
            return invoke(runner, command, args, **others)
        finally:
            busy.pop()

    def seeing(seen: Seen, document: Document, place: str) -> None:
        if not busy:
            LISTENER.examined(document)
        add(seen, document, place)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CliRunner, "invoke", listening)
        patch.setattr(Seen, "add", seeing)
        yield


def pytest_sessionfinish() -> None:
    """Write what was asked."""
    LISTENER.write()
