"""The command as a plugin of kubectl: `kubectl reprieve`, and what kubectl asks for when a shell completes it."""

from __future__ import annotations

import sys
from typing import Final

from click.shell_completion import ShellComplete

from cli.common.printable import guarding, one_line, say, say_lines
from cli.common.writing import writing
from cli.main import PLUGIN, reprieve

__all__ = ["complete", "main"]

FILES: Final = ":0"
"""kubectl takes these from the library that reads its own command line: the shell may complete files."""
NO_FILES: Final = ":4"


def main() -> None:
    """The entry point `kubectl-reprieve`."""
    with writing():
        reprieve(prog_name=PLUGIN)


def complete() -> None:
    """The entry point `kubectl_complete-reprieve`. Its arguments are the words after `kubectl reprieve`.

    The last one is the word that has begun, and may be empty. Each line is a word, with its help after a tab. The last
    line says whether the shell may complete files as well.
    """
    *words, begun = sys.argv[1:] or [""]
    with writing(), guarding():
        found = ShellComplete(reprieve, {}, PLUGIN, "").get_completions(words, begun)
        for each in found:
            if each.type == "plain":
                value = one_line(each.value)
                say_lines(f"{value}\t{one_line(each.help)}\n" if each.help else f"{value}\n")
        say(NO_FILES if all(each.type == "plain" for each in found) else FILES)
