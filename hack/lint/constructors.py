"""Constructors in `controllers` have at most seven arguments.

One with more does too much, or it has arguments that are one thing without a name: split it, or name the thing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

__all__ = ["EXCEPTIONS", "MOST", "faults"]

MOST: Final = 7
"""Arguments besides self."""

EXCEPTIONS: Final[Mapping[str, str]] = {}
"""Classes (module.Class) that may have more, and why."""


def faults(root: Path, exceptions: Mapping[str, str] = EXCEPTIONS) -> Iterator[str]:
    """One line for each constructor with too many arguments, and for each exception that is not needed."""
    unused = dict(exceptions)
    for path in sorted((root / "controllers").rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        for class_name, constructor in _constructors(ast.parse(path.read_text())):
            count = _arguments(constructor)
            if count > MOST and unused.pop(f"{name}.{class_name}", None) is None:
                where = f"{path.relative_to(root)}:{constructor.lineno}"
                yield f"{where}: the constructor of {class_name} has {count} arguments, and {MOST} is the most"
    for known in unused:
        yield f"hack/lint/constructors.py: {known} needs no exception"


def _constructors(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for each in ast.walk(tree):
        if isinstance(each, ast.ClassDef):
            for line in each.body:
                if isinstance(line, ast.FunctionDef) and line.name == "__init__":
                    yield each.name, line


def _arguments(constructor: ast.FunctionDef) -> int:
    arguments = constructor.args
    return len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs) - 1
