"""The pages that say what belongs where are true: they are compared with the import contracts and with the tree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINTER = PROJECT["tool"]["importlinter"]


def layers() -> list[set[str]]:
    """From the top down; rooms of one layer do not import each other."""
    (contract,) = (each for each in LINTER["contracts"] if each["name"] == "Imports go downwards only")
    return [set(layer.split(" | ")) for layer in contract["layers"]]


def table() -> dict[str, set[str]]:
    """What each room may import, by the table in CONTRIBUTING.md."""
    rows = re.findall(r"^\| `(\w+)/` \|[^|]*\|([^|]*)\|$", (ROOT / "CONTRIBUTING.md").read_text(), re.M)
    return {room: set(re.findall(r"`(\w+)`", may)) for room, may in rows if room != "hack"}


def test_every_room_is_in_the_contract() -> None:
    assert set().union(*layers()) == set(LINTER["root_packages"])


def test_the_table_says_what_the_contract_says() -> None:
    allowed: dict[str, set[str]] = {}
    below: set[str] = set()
    for layer in reversed(layers()):
        allowed.update({room: set(below) for room in layer})
        below |= layer
    for contract in LINTER["contracts"]:
        if contract["type"] == "forbidden":
            for room in allowed.keys() & contract["source_modules"]:
                allowed[room] -= set(contract["forbidden_modules"])
    assert table() == allowed


def test_the_architecture_page_draws_the_same_layers() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    drawn = page.partition("Imports go downwards only:\n\n```\n")[2].partition("```")[0].splitlines()
    assert [set(line.split(" | ")) for line in drawn] == layers()


def misnamed(page: str) -> list[str]:
    """Paths of the page that do not exist: from the root, or in a folder that the same paragraph has named."""
    wrong = []
    for paragraph in re.split(r"\n(?=\n|\d+\. |\| )", page):
        folders = [ROOT, ROOT / "docs"]
        for name in re.findall(r"`((?:\w+/)*\w+\.(?:py|pyx|md|toml)|(?:\w+/)+)`", paragraph):
            found = [folder / name for folder in folders if (folder / name).exists()]
            folders += [path if path.is_dir() else path.parent for path in found]
            wrong += [] if found else [name]
    return wrong


def test_the_architecture_page_names_what_there_is() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert len(re.findall(r"`(?:\w+/)+\w+\.py`", page)) > 40
    assert misnamed(page) == []


def test_a_wrong_path_on_a_page_is_found() -> None:
    assert misnamed("see `nodes/search/decision.py` and `free_room.py`, and `nodes/filters/`") == []
    assert misnamed("see `nodes/search/decisions.py`") == ["nodes/search/decisions.py"]
    assert misnamed("see `nodes/search/decision.py`\n\nand `free_room.py`") == ["free_room.py"]


def test_controllers_are_independent_of_one_another() -> None:
    (contract,) = (each for each in LINTER["contracts"] if each["name"].startswith("Controllers are"))
    folders = (path.name for path in (ROOT / "controllers").iterdir() if (path / "__init__.py").exists())
    assert set(contract["modules"]) == {f"controllers.{name}" for name in folders}
