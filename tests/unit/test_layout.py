"""From the name of a module a reader finds its tests, and no folder of the product is a list too long to read.

The tests of `ROOM/thing.py` are in `tests/unit/ROOM/test_thing.py`, or in `tests/property/test_thing.py` if that file
imports the module. The docstring of the room says where all others are. Its last paragraph is:

    Tests: this and that in test_both.py; another in tests/property/test_something.py.

A file without a folder is in the room's own folder of tests/unit.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
UNIT: Final = Path("tests", "unit")
PROPERTY: Final = Path("tests", "property")
LIVE: Final = Path("tests", "e2e")
"""Its files run the command, and import what it is made of only by chance."""
SUFFIXES: Final = (".py", ".pyx")
MOST_MODULES: Final = 25
LEAST_MODULES: Final = 4
"""Fewer do not need a room."""
LONG: Final = {
    "api": "one module for each kind of object or value",
    "nodes/filters": "one module for each filter of kube-scheduler",
    "webhooks/rules": "one module for each kind of object, and for each kind of rule",
}
"""Folders that may have more modules, with the reason."""
SHORT: Final = {
    "cli/clusters": "each command is a room",
    "cli/diff": "each command is a room",
    "cli/doctor": "each command is a room",
    "cli/evicted": "each command is a room",
    "cli/page": "each command is a room",
    "cli/pausing": "each command is a room",
    "cli/queue": "each command is a room",
    "cli/report": "each command is a room",
    "cli/serve": "each command is a room",
    "cli/whatif": "each command is a room",
    "cli/why": "each command is a room",
    "controllers/checks": "a controller of its own, which imports no other one",
    "controllers/recheck": "a controller of its own, which imports no other one",
    "controllers/gangs/telling": "all that people read of gangs; the modules are long",
    "schema/cel": "a language of its own: parser, evaluation, values",
    "serving/certificates": "certificates of listeners, whoever makes them; `webhooks/certificates` makes them",
}
"""Rooms that may have fewer modules, with the reason."""
FROM: Final = re.compile(r"^[ \t]*from ([\w.]+) c?import (\([^)]*\)|.*)", re.MULTILINE)
IMPORT: Final = re.compile(r"^[ \t]*c?import (.*)", re.MULTILINE)
QUOTED: Final = re.compile(r'"(\w+(?:\.\w+)+)"', re.ASCII)
"""`cli.main` imports its commands by name."""
WORD: Final = re.compile(r"\w+")
DOTTED: Final = re.compile(r"\w+(?:\.\w+)+", re.ASCII)
CLAUSE: Final = re.compile(r"(?P<modules>.+?) in (?P<files>.+)")
AND: Final = re.compile(r",\s*|\s+and\s+")


def rooms(root: Path) -> list[str]:
    """The rooms of the product: those whose imports go downwards only."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    names: list[str] = project["tool"]["importlinter"]["root_packages"]
    return names


def folders(root: Path, names: list[str]) -> dict[Path, list[Path]]:
    """The modules of each folder, as paths from the root. `__init__.py` is the room itself, and no module of it."""
    every = [
        path.relative_to(root)
        for name in names
        for path in sorted((root / name).rglob("*"))
        if path.suffix in SUFFIXES
    ]
    return {
        folder: [path for path in every if path.parent == folder and path.name != "__init__.py"]
        for folder in sorted({path.parent for path in every})
    }


class Imports:
    """What a module imports, at any depth and also by its name in a text."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._direct: dict[Path, set[Path]] = {}
        self._found: dict[str, list[Path]] = {}
        self._all: dict[Path, set[Path]] = {}

    def direct(self, path: Path) -> set[Path]:
        """The modules that one module imports itself."""
        if path not in self._direct:
            names = _names((self._root / path).read_text())
            found = {module for name in names for module in self._modules(name)}
            fixtures = path.with_name("conftest.py")
            if path.name.startswith("test_") and (self._root / fixtures).is_file():
                found.add(fixtures)
            self._direct[path] = found
        return self._direct[path]

    def all(self, path: Path) -> set[Path]:
        """The modules that one module imports itself or by way of others."""
        if path not in self._all:
            seen, open_ = {path}, [path]
            while open_:
                new = self.direct(open_.pop()) - seen
                seen |= new
                open_ += new
            self._all[path] = seen
        return self._all[path]

    def _modules(self, dotted: str) -> list[Path]:
        if dotted not in self._found:
            base = Path(*dotted.split("."))
            paths = (*(base.with_suffix(suffix) for suffix in SUFFIXES), base / "__init__.py")
            self._found[dotted] = [path for path in paths if (self._root / path).is_file()]
        return self._found[dotted]


def _names(text: str) -> Iterator[str]:
    for base, names in FROM.findall(text):
        yield base
        yield from (f"{base}.{name}" for name in WORD.findall(names))
    for names in IMPORT.findall(text):
        yield from DOTTED.findall(names)
    yield from QUOTED.findall(text)


def said(root: Path, room: Path) -> dict[str, list[Path]]:
    """By module: the files of tests that the docstring of its room names. Raises ValueError if it cannot be read."""
    init = root / room / "__init__.py"
    text = (ast.get_docstring(ast.parse(init.read_text())) or "") if init.exists() else ""
    _, found, sentence = text.partition("Tests: ")
    places: dict[str, list[Path]] = {}
    for clause in " ".join(sentence.split()).removesuffix(".").split("; ") if found else ():
        match = CLAUSE.fullmatch(clause)
        if match is None:
            raise ValueError(f"{room}/__init__.py: not 'MODULE and MODULE in FILE': {clause}")
        files = [Path(name) if "/" in name else UNIT / room / name for name in AND.split(match["files"])]
        for module in AND.split(match["modules"]):
            places.setdefault(module, []).extend(files)
    return places


def unfound(root: Path, modules: Mapping[Path, list[Path]]) -> Iterator[str]:
    """Modules whose tests a reader does not find, and sentences about tests that are not true."""
    imports = Imports(root)
    for room, paths in modules.items():
        places = said(root, room)
        for path in paths:
            name = f"test_{path.stem.lstrip('_')}.py"
            if (root / UNIT / room / name).exists():
                if path.stem in places:
                    yield f"{path}: has a file of its name, and {room}/__init__.py names others"
            elif path.stem in places:
                yield from _untrue(root, imports, path, places[path.stem])
            elif not ((root / PROPERTY / name).exists() and path in imports.direct(PROPERTY / name)):
                yield f"{path}: no {UNIT / room / name}, and {room}/__init__.py does not say where its tests are"
        for unknown in places.keys() - {path.stem for path in paths}:
            yield f"{room}/__init__.py: names tests of {unknown}, which is no module here"


def _untrue(root: Path, imports: Imports, path: Path, files: list[Path]) -> Iterator[str]:
    for file in files:
        if not (root / file).is_file():
            yield f"{path.parent}/__init__.py: {file} does not exist"
        elif not file.is_relative_to(LIVE) and path not in imports.all(file):
            yield f"{path.parent}/__init__.py: {file} does not import {path.stem}"


def crowded(modules: Mapping[Path, list[Path]]) -> Iterator[str]:
    """Folders with too many modules, and rooms inside of rooms that have too few."""
    for folder, paths in modules.items():
        inner = any(other.parent == folder for other in modules)
        if len(paths) > MOST_MODULES and str(folder) not in LONG:
            yield f"{folder}: {len(paths)} modules"
        elif len(paths) < LEAST_MODULES and len(folder.parts) > 1 and not inner and str(folder) not in SHORT:
            yield f"{folder}: only {len(paths)} modules"


def test_the_tests_of_each_module_are_found_from_its_name() -> None:
    modules = folders(ROOT, rooms(ROOT))
    assert sum(map(len, modules.values())) > 100
    assert list(unfound(ROOT, modules)) == []


def test_each_folder_can_be_read_at_a_glance() -> None:
    modules = folders(ROOT, rooms(ROOT))
    assert list(crowded(modules)) == []
    assert [name for name in (*LONG, *SHORT) if Path(name) not in modules] == []


SENTENCE: Final = "Tests: told in test_all.py; far and _native in tests/property/test_far.py."
PROJECT: Final = '[tool.importlinter]\nroot_packages = ["room"]\n'


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A product of one room, where all tests are found."""
    for path, text in {
        "pyproject.toml": PROJECT,
        "room/__init__.py": f'"""A room.\n\n{SENTENCE}\n"""\n',
        "room/named.py": "",
        "room/told.py": "",
        "room/far.py": "from room import _native\n",
        "room/_native.pyx": "",
        "room/lives.py": "",
        "tests/unit/room/test_named.py": "",
        "tests/unit/room/test_all.py": "from room.told import something\n",
        "tests/property/test_far.py": 'NAME = "room.far"\n',
        "tests/property/test_lives.py": "import room.lives\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_a_sentence_may_name_several_modules_and_files_elsewhere(small: Path) -> None:
    assert list(unfound(small, folders(small, rooms(small)))) == []


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("room/new.py", "", "room/new.py: no tests/unit/room/test_new.py"),
        ("room/inner/_deep.pyx", "", "room/inner/_deep.pyx: no tests/unit/room/inner/test_deep.py"),
        ("tests/property/test_lives.py", "", "room/lives.py: no tests/unit/room/test_lives.py"),
        ("tests/unit/room/test_told.py", "", "room/told.py: has a file of its name"),
        ("tests/unit/room/test_all.py", "", "tests/unit/room/test_all.py does not import told"),
        ("room/far.py", "", "tests/property/test_far.py does not import _native"),
        ("room/__init__.py", f'"""{SENTENCE[:-1]}; gone in test_all.py."""', "gone, which is no module here"),
        ("room/__init__.py", f'"""{SENTENCE[:-1]}; told in test_gone.py."""', "test_gone.py does not exist"),
    ],
)
def test_a_module_without_a_way_to_its_tests_is_named(small: Path, path: str, text: str, fault: str) -> None:
    (small / path).parent.mkdir(exist_ok=True)
    (small / path).write_text(text)
    (line,) = unfound(small, folders(small, rooms(small)))
    assert fault in line


def test_a_sentence_that_cannot_be_read_is_named(small: Path) -> None:
    (small / "room/__init__.py").write_text('"""A room.\n\nTests: everywhere."""')
    with pytest.raises(ValueError, match="everywhere"):
        list(unfound(small, folders(small, rooms(small))))


@pytest.mark.parametrize(
    ("room", "count", "fault"),
    [
        ("room", MOST_MODULES + 1, ["room: 26 modules"]),
        ("room", MOST_MODULES, []),
        ("room", 1, []),
        ("room/inner", LEAST_MODULES, []),
        ("room/inner", LEAST_MODULES - 1, ["room/inner: only 3 modules"]),
        ("api", MOST_MODULES + 1, []),
        ("schema/cel", 3, []),
    ],
)
def test_a_folder_is_counted_unless_it_has_a_reason(room: str, count: int, fault: list[str]) -> None:
    assert list(crowded({Path(room): [Path(room, f"m{number}.py") for number in range(count)]})) == fault
