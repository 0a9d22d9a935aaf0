"""Each page that depends on `planning.mode` says at its top which one it speaks of."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

DOCS: Final = Path(__file__).parents[3] / "docs"
DEPENDS: Final = {
    "account": "Observe",
    "architecture": "Enforce",
    "doctor": "each",
    "gates": "Enforce",
    "groups": "Enforce",
    "install": "Observe, then Enforce",
    "is-it-for-me": "Enforce",
    "jobs": "Enforce",
    "leaving": "Enforce",
    "limits": "Enforce",
    "monitoring": "each",
    "multikueue": "Enforce",
    "nodes": "Enforce",
    "observe-to-enforce": "Observe, then Enforce",
    "pausing": "Enforce",
    "pod-groups": "Enforce",
    "queueing": "Enforce",
    "troubleshooting": "Enforce",
    "webhooks": "Enforce",
    "why": "each",
}
"""By page, its mode."""
OTHERS: Final = {
    "README": "a list of the pages",
    "admission-checks": "what a controller of checks writes",
    "clusters": "a command that reads",
    "comparison": "what others do",
    "command": "what commands have in common",
    "diff": "a command that reads",
    "kueue-differences": "the kinds of Kueue",
    "metrics": "a list that is made from the code",
    "modes": "it explains the modes",
    "questions": "commands that read",
    "page": "it says at the top in which mode the cluster is",
    "page-api": "a list that is made from the code",
    "queue": "a command that reads",
    "releasing": "how a version is made",
    "quota": "the rules of quota",
    "tutorial-administrator": "a plane on the reader's machine, which acts",
    "tutorial-jobs": "a plane on the reader's machine, which acts",
    "tutorial-multikueue": "a plane on the reader's machine, which acts",
    "tutorial-queues": "a plane on the reader's machine, which acts",
    "tutorial-webhooks": "a plane on the reader's machine, which acts",
    "validate": "a command that reads",
    "versions": "what may change between versions",
    "what-if": "a command that reads",
    "words": "a list of words",
}
"""Pages that do not depend on it, and why."""


def test_of_every_page_it_is_known_whether_it_depends_on_the_mode() -> None:
    assert {page.stem for page in DOCS.glob("*.md")} == DEPENDS.keys() | OTHERS.keys()
    assert not DEPENDS.keys() & OTHERS.keys()


@pytest.mark.parametrize("page", DEPENDS)
def test_the_page_says_its_mode_below_its_title(page: str) -> None:
    title, blank, said = (DOCS / f"{page}.md").read_text().splitlines()[:3]
    assert (title[:2], blank) == ("# ", "")
    assert said.replace(".**", "**").startswith(f"**Mode: {DEPENDS[page]}**")


@pytest.mark.parametrize("page", OTHERS)
def test_no_other_page_says_one(page: str) -> None:
    assert "**Mode: " not in (DOCS / f"{page}.md").read_text()
