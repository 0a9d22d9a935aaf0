"""README's first screen: what reprieve is, a picture, four commands, and where to go from there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

README: Final = Path(__file__).parents[3] / "README.md"
SCREEN: Final = README.read_text().partition("\n## ")[0]
BLOCK: Final = re.compile(r"```sh\n(?P<lines>.*?)```", re.DOTALL)
MOST_LINES: Final = 24


def test_it_is_one_screen() -> None:
    assert len(SCREEN.splitlines()) <= MOST_LINES


def test_its_picture_is_one_that_make_pictures_draws() -> None:
    names: list[str] = re.findall(r'(?:srcset|src)="docs/pictures/([^"]+)"', SCREEN)
    assert [name.removesuffix(".svg").rpartition("-")[2] for name in names] == ["dark", "light"]
    assert all((README.parent / "docs" / "pictures" / name).is_file() for name in names)
    (alt,) = re.findall(r'alt="([^"]+)"', SCREEN)
    assert len(alt.split()) > 20


def test_four_commands_lead_to_a_report() -> None:
    (block,) = BLOCK.findall(SCREEN)
    commands = [line.split() for line in block.splitlines()]
    assert [each[0] for each in commands] == ["pipx", "helm", "helm", "reprieve"]
    assert commands[-1][1] == "report"


def test_it_says_that_nobody_is_evicted_and_where_to_go_on() -> None:
    end = BLOCK.split(SCREEN)[-1]
    assert "This evicts nobody" in end
    assert "(docs/observe-to-enforce.md)" in end
