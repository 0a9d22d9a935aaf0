"""docs/tutorial-queues.md shows what kubectl prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from tests.e2e.pages import ROOT, run, sessions
from tests.e2e.quota_sandbox import QuotaSandbox

SESSIONS: Final = sessions((ROOT / "docs" / "tutorial-queues.md").read_text())


def test_it_has_the_four_parts_and_cleans_up() -> None:
    assert [title[:1] for title in SESSIONS] == ["I", "1", "2", "3", "4", "A"]


@pytest.mark.parametrize("title", SESSIONS)
def test_it_shows_what_kubectl_prints(quotas: Callable[[str], QuotaSandbox], title: str) -> None:
    """In this order: each part begins where the one before ends."""
    plane = quotas("tutorial").plane
    for command, output in SESSIONS[title]:
        result = run(plane, "bash", "-c", command)
        assert result.stdout == output, command
        assert result.returncode == 0, command
