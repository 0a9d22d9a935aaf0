"""What the check's message says, and when it is written."""

from __future__ import annotations

import pytest

from controllers.multikueue.life.memory import EMPTY
from controllers.multikueue.life.messages import ABOUT, EVERY, LOOKS, TAKEN, Line, pending, throttled
from runtime.exchange.dispatch_reports import CheckReport

NOW = 1_000_000_000


def report(*lines: tuple[str, Line]) -> tuple[CheckReport, tuple[str, ...]]:
    return pending("check", lines, "2026-01-01T00:00:00Z")


@pytest.mark.parametrize("kind", [ABOUT, LOOKS, TAKEN])
def test_what_soon_passes_is_not_written_at_once(kind: str) -> None:
    """While copies are made and admitted, each write of the message would be one more before the choice."""
    first, kinds = report(("alpha", Line("Gated", "waits for its turn")), ("beta", Line(ABOUT, "soon")))
    memory, said, _ = throttled(EMPTY, first, kinds, NOW)
    later, kinds = report(("alpha", Line(kind, "passes")), ("beta", Line(kind, "passes")))
    memory, said, due = throttled(memory, later, kinds, NOW + 1)
    assert (said, due) == (first, NOW + EVERY)
    _, said, due = throttled(memory, later, kinds, NOW + EVERY)
    assert (said, due) == (later, None)


def test_a_reason_that_stays_is_written_at_once() -> None:
    first, kinds = report(("alpha", Line(ABOUT, "soon")), ("beta", Line(ABOUT, "soon")))
    memory, _, _ = throttled(EMPTY, first, kinds, NOW)
    later, kinds = report(("alpha", Line(LOOKS, "not yet")), ("beta", Line("Gated", "waits for its turn")))
    memory, said, _ = throttled(memory, later, kinds, NOW + 1)
    assert said == later
    fewer, kinds = report(("alpha", Line(LOOKS, "not yet")))
    assert throttled(memory, fewer, kinds, NOW + 2)[1] == fewer
