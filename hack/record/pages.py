"""The commands of README.md, docs/ and the comments in examples/, as far as they run without a cluster."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cli.main import COMMANDS
from hack.record.cases import Case
from tests.kit.page_commands import OFFLINE, ROOT, commands
from tests.kit.pages import COMMENT

__all__ = ["about_the_command", "of_examples", "of_pages"]

FORMATS = ((), ("-o", "json"), ("-o", "yaml"))
FILES = "-f"


def of_pages() -> Iterator[Case]:
    """Commands that name files of this repository, and those for which tests know the files to read."""
    for command in commands():
        text, files = command.text, dict[str, str]()
        if not text.startswith("reprieve "):
            continue
        if text in OFFLINE:
            text = f"{text} {OFFLINE[text].options}"
            files = {
                name: (ROOT / "examples" / example).read_text()
                for name, example in OFFLINE[command.text].files
            }
        arguments = shlex.split(text)[1:]
        if FILES not in arguments and not files:
            continue
        for options in FORMATS:
            yield Case((*arguments, *options), files=files)


def of_examples() -> Iterator[Case]:
    """What the comments in examples/ say."""
    for example in sorted((ROOT / "examples").rglob("*.yaml")):
        for text in COMMENT.findall(example.read_text()):
            for options in FORMATS:
                yield Case((*shlex.split(text.partition("  ")[0])[1:], *options))


def about_the_command() -> Iterator[Case]:
    """Help, and options and commands that do not exist."""
    for name in ((), *((each,) for each in COMMANDS)):
        yield Case((*name, "--help"))
        yield Case((*name, "--nonsense"))
        yield Case(name)
    yield Case(("nonsense",))
    yield Case(("serve", "--print-config"))
