"""docs/README.md lists every page, and links between pages lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

DOCS: Final = Path(__file__).parents[3] / "docs"
PAGES: Final = sorted(DOCS.glob("*.md"))
LINK: Final = re.compile(r"\]\((?P<page>[^)#:]*)(?:#(?P<anchor>[^)]*))?\)")
HEADING: Final = re.compile(r"^#+ (?P<title>.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Those that a heading has on the usual sites: small letters, and hyphens for blanks."""
    titles: list[str] = HEADING.findall(page.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_index_lists_every_page() -> None:
    listed = {match["page"] for match in LINK.finditer((DOCS / "README.md").read_text())}
    assert {page.name for page in PAGES} - {"README.md"} <= listed


@pytest.mark.parametrize("page", [*PAGES, *DOCS.parent.glob("*.md")], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(page.read_text()):
        target = page.parent / match["page"] if match["page"] else page
        assert target.exists(), match[0]
        if match["anchor"] and target.suffix == ".md":
            assert match["anchor"] in anchors(target), match[0]
