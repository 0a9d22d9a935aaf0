"""Definitions of the product that nobody uses, or only tests; and names in `__all__` that nobody imports.

What a class has is vulture's question, which goes by names alone. What a module defines is asked more exactly: it is
used if its module loads it outside of its own definition, or if a module of the product, bench or hack imports it from
there. That it stands in `__all__` is no use.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from vulture import Vulture

__all__ = ["ALLOWED", "faults"]

PRODUCT: Final = (
    "api", "native", "nodes", "quota", "schema", "kube", "serving", "runtime", "controllers", "extender",
    "webhooks", "answers", "web", "cli",
)  # fmt: skip
USERS: Final = (*PRODUCT, "bench", "hack")
"""Whose use counts. Tests are not among them."""
CONFIDENCE: Final = 60
"""vulture's own threshold, in percent."""
WORD: Final = re.compile(r"\w+")
ATTRIBUTE: Final = re.compile(r"\.(\w+)")
ENTRY: Final = re.compile(r'= "([\w.]+):(\w+)"')
"""In pyproject.toml, a function that a script calls."""
IMPORT: Final = re.compile(r"^from ([\w.]+) import (.+)$", re.MULTILINE)
"""In a kernel, of a module that is no kernel."""

LIBRARY: Final = "a library that we use calls or reads it"
TABLE: Final = "a row of the kernels' table of codes: tests compare it, and the twins repeat it"
ALLOWED: Final[Mapping[str, str]] = {
    "api/yaml.py:ignore_aliases": LIBRARY,
    "cli/common/tables.py:no_wrap": LIBRARY,
    "cli/common/tables.py:overflow": LIBRARY,
    "cli/common/writing.py:writable": LIBRARY,
    "cli/main.py:format_commands": LIBRARY,
    "cli/main.py:get_command": LIBRARY,
    "cli/main.py:list_commands": LIBRARY,
    "controllers/gangs/waking/pulses.py:is_patient": "tuples are sorted by it",
    "native/codes.py:FEASIBLE": TABLE,
    "native/codes.py:INFEASIBLE": TABLE,
    "native/codes.py:SPENT": TABLE,
    "serving/certificates/live_context.py:minimum_version": LIBRARY,
    "serving/certificates/live_context.py:verify_mode": LIBRARY,
}
"""Definitions (FILE:NAME) that seem unused, and who uses them."""


Found = tuple[str, int, str]
"""Path, line and name."""
By = defaultdict[str, set[str]]
"""Names by module."""


@dataclass(slots=True)
class Module:
    """What one file defines and uses."""

    path: str
    """From the root of the checkout."""
    text: str
    defined: dict[str, ast.stmt] = field(default_factory=dict)
    """By name, what stands at the top level."""
    exported: dict[str, int] = field(default_factory=dict)
    """What stands in `__all__`, with the line."""
    loads: defaultdict[str, set[ast.stmt]] = field(default_factory=lambda: defaultdict(set))
    """By name, the statements at the top level that load it."""
    attributes: set[str] = field(default_factory=set)
    imports: set[tuple[str, str]] = field(default_factory=set)
    """Module and name."""
    wholes: set[str] = field(default_factory=set)
    """Modules that are imported as such."""
    texts: set[str] = field(default_factory=set)
    classes: list[ast.ClassDef] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As it is imported."""
        return ".".join(Path(self.path).with_suffix("").parts).removesuffix(".__init__")

    @property
    def is_product(self) -> bool:
        """Whether faults in it are reported."""
        return self.path.partition("/")[0] in PRODUCT


def faults(root: Path, allowed: Mapping[str, str] = ALLOWED) -> Iterator[str]:
    """One line for each fault, and for each definition that is allowed without need."""
    read = {room: _room(root, room) for room in (*USERS, "tests")}
    users = [module for room in USERS for module in read[room]]
    kernels = [path.read_text() for room in PRODUCT for path in sorted((root / room).rglob("*.pyx"))]
    others = [*ENTRY.findall((root / "pyproject.toml").read_text())]
    others += [found for text in kernels for found in IMPORT.findall(text)]
    found = {*_in_modules(users, others), *_in_classes(users, kernels)}
    for path, line, name in sorted(found):
        if f"{path}:{name}" not in allowed:
            yield f"{path}:{line}: {name} is not used, or only by tests"
    for known in allowed.keys() - {f"{path}:{name}" for path, _, name in found}:
        yield f"hack/lint/unused.py: {known} need not be allowed"
    for path, line, name in _exported(users, _imported([*users, *read["tests"]], others)):
        if f"{path}:{name}" not in allowed:
            yield f"{path}:{line}: nobody imports {name}, which stands in __all__"


# ---- reading


def _room(root: Path, room: str) -> list[Module]:
    return [_read(path, str(path.relative_to(root))) for path in sorted((root / room).rglob("*.py"))]


def _read(file: Path, path: str) -> Module:
    module = Module(path, file.read_text())
    for statement in ast.parse(module.text).body:
        names = list(_names(statement))
        if "__all__" in names and isinstance(statement, ast.Assign):
            module.exported = dict(_texts(statement.value))
            continue
        module.defined |= {name: statement for name in names if not name.startswith("__")}
        for each in ast.walk(statement):
            _note(module, statement, each)
    return module


def _names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top level defines. Imports define none here."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for each in (each for target in targets for each in ast.walk(target)):
            if isinstance(each, ast.Name):
                yield each.id


def _note(module: Module, statement: ast.stmt, each: ast.AST) -> None:
    match each:
        case ast.Name(id=name, ctx=ast.Load()):
            module.loads[name].add(statement)
        case ast.Attribute(attr=name):
            module.attributes.add(name)
        case ast.ImportFrom(module=str(source), names=aliases):
            module.imports |= {(source, alias.name) for alias in aliases}
            module.wholes |= {f"{source}.{alias.name}" for alias in aliases}
        case ast.Import(names=aliases):
            module.wholes |= {alias.name for alias in aliases}
        case ast.Constant(value=str(text)):
            module.texts.add(text)
            if isinstance(statement, ast.AnnAssign) and "TypeAlias" in ast.unparse(statement.annotation):
                for word in WORD.findall(text):
                    module.loads[word].add(statement)
        case ast.ClassDef():
            module.classes.append(each)
        case _:
            pass


# ---- what modules define


def _imported(modules: Iterable[Module], others: Iterable[tuple[str, str]]) -> By:
    """By module, the names that others import from it, or may read from it as a whole."""
    imported = By(set)
    for name, names in others:
        imported[name] |= set(WORD.findall(names))
    for module in modules:
        for source, name in module.imports:
            imported[source].add(name)
        for name in module.wholes:
            imported[name] |= module.attributes
    return imported


def _in_modules(modules: Sequence[Module], others: Iterable[tuple[str, str]]) -> Iterator[Found]:
    """What stands at the top level of a module of the product and is not used."""
    imported = _imported(modules, others)
    texts = {text for module in modules for text in module.texts}
    for module in modules:
        if not module.is_product:
            continue
        for name, statement in module.defined.items():
            is_listed = module.name in texts and _is_command(
                statement
            )  # imported by its name, when it is called
            if name not in imported[module.name] and not is_listed and not module.loads[name] - {statement}:
                yield module.path, statement.lineno, name


def _exported(modules: Iterable[Module], imported: By) -> Iterator[Found]:
    """Functions and constants in `__all__` that nobody imports. A class stands there if others meet its instances."""
    for module in modules:
        if not module.is_product:
            continue
        for name, line in module.exported.items():
            statement = module.defined.get(name)
            is_value = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) or name.isupper()
            is_used = name in imported[module.name] or statement is None or _is_command(statement)
            if is_value and not is_used:
                yield module.path, line, name


def _is_command(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef) and any(
        "click.command" in ast.unparse(decorator) for decorator in statement.decorator_list
    )


# ---- what classes have


def _in_classes(modules: Sequence[Module], kernels: Iterable[str]) -> Iterator[Found]:
    """What vulture finds in the product. Fields are left out: what an object can say is for its API to decide."""
    scan = Vulture()
    fields = _fields(modules)
    for module in modules:
        scan.scan(module.text, Path(module.path))
    for text in kernels:
        scan.used_names.update(ATTRIBUTE.findall(text))
    product = {module.path: module for module in modules if module.is_product}
    for item in scan.get_unused_code(min_confidence=CONFIDENCE):
        its = product.get(str(item.filename))
        if its is None or item.typ == "import":
            continue
        is_field = item.typ in ("variable", "attribute") and item.name in fields
        is_at_the_top = item.typ in ("function", "class", "variable") and item.name in its.defined
        if not is_field and not is_at_the_top:
            yield its.path, item.first_lineno, item.name


def _fields(modules: Sequence[Module]) -> set[str]:
    """The fields of what is read from JSON or written as JSON: of msgspec's Struct and of all that is made from it."""
    classes = [each for module in modules for each in module.classes]
    structs, before = {"Struct"}, 0
    while len(structs) > before:
        before = len(structs)
        structs |= {each.name for each in classes if structs & {_last(base) for base in each.bases}}
    return {
        line.target.id
        for each in classes
        if each.name in structs
        for line in each.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }


def _last(base: ast.expr) -> str:
    return ast.unparse(base).partition("[")[0].rpartition(".")[2]


def _texts(node: ast.expr) -> Iterator[tuple[str, int]]:
    """Each text in it, with its line."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value, each.lineno
