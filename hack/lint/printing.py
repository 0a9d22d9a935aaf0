"""The command prints through `cli.common.printable` and `cli.common.output`, and nowhere else.

They escape what a terminal must not get from a cluster. See decision 0092.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

__all__ = ["EXCEPTIONS", "faults"]

EXCEPTIONS: Final[Mapping[str, str]] = {
    "cli/common/printable.py": "it escapes",
    "cli/common/output.py": "it prints what printable.py has escaped",
    "cli/common/writing.py": "it has one line of its own to say when standard output is lost",
    "cli/common/lines.py": "it writes bytes, which in_json of printable.py has escaped",
}
"""Files that may print, and why."""
PRINTS: Final = frozenset(["print", "click.echo", "click.secho"])
STREAMS: Final = ("sys.stdout.", "sys.stderr.", "sys.__stdout__", "sys.__stderr__")
ASKS: Final = frozenset(["isatty", "fileno"])
"""What may be asked of a stream."""


def faults(root: Path, exceptions: Mapping[str, str] = EXCEPTIONS) -> Iterator[str]:
    """One line for each place that prints, and for each exception that is not needed."""
    unused = dict(exceptions)
    for path in sorted((root / "cli").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        found = list(_prints(ast.parse(path.read_text())))
        if found and unused.pop(name, None) is None:
            for line, what in found:
                yield f"{name}:{line}: {what}: print with say or complain (cli.common.printable), or with show"
    for known in unused:
        yield f"hack/lint/printing.py: {known} needs no exception"


def _prints(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for each in ast.walk(tree):
        if isinstance(each, ast.Call) and (name := ast.unparse(each.func)) in PRINTS:
            yield each.lineno, name
        elif isinstance(each, ast.Attribute) and each.attr not in ASKS:
            name = ast.unparse(each)
            if name.startswith(STREAMS):
                yield each.lineno, name
