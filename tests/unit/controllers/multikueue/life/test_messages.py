"""What the check's message says of each cluster, and when it is written."""

from __future__ import annotations

import pytest

from controllers.multikueue.life.memory import EMPTY, Remade
from controllers.multikueue.life.messages import (
    ABOUT,
    EVERY,
    LIMIT,
    LOOKS,
    TAKEN,
    Line,
    pending,
    said,
    throttled,
)
from runtime.exchange.dispatch_reports import CheckReport
from tests.kit.dispatched.seeing import (
    ATTEMPT,
    EVICTED,
    FOREIGN,
    OLD,
    QUOTA_RESERVED,
    admitted,
    at,
    cluster,
    copy,
    gated,
    seen,
    turn,
)

NOW = 1_000_000_000


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (cluster("a", reach="Away", why="no answer"), "not connected: no answer"),
        (cluster("a", reach="Lost", why="no answer"), "lost: no answer"),
        (cluster("a"), "the copy is about to be made"),
        (cluster("a", honours_gates=False), "does not honour preemption gates"),
        (cluster("a", copy(mark=FOREIGN)), "another manager has a copy"),
        (cluster("a", copy(mark=OLD)), "what is left of an earlier attempt goes first"),
        (cluster("a", copy(EVICTED)), "is made anew"),
        (cluster("a", copy(digest=b"x")), "is made anew"),
        (cluster("a", admitted()), "admitted"),
        (cluster("a", copy(QUOTA_RESERVED)), "waits for its own admission checks"),
        (cluster("a", gated(message="2 more CPUs.")), "would have to preempt, and waits for its turn"),
        (cluster("a", copy(waits="Pending", message="2 more CPUs.")), "waits for quota: 2 more CPUs"),
        (cluster("a", copy()), "has not looked at it yet"),
    ],
)
def test_each_cluster_has_a_line(where: object, text: str) -> None:
    """10189: nobody could say why it waits."""
    assert text in said(where, seen(where), EMPTY).text  # type: ignore[arg-type] # a cluster


def test_a_cluster_that_is_out_says_why_and_one_that_may_preempt_until_when() -> None:
    out = EMPTY.refused("a", "Forbidden", "no right")
    assert said(cluster("a"), seen(), out) == Line("Out Forbidden", "not in this attempt: no right")
    where = cluster("a", gated(gate="Open"))
    line = said(where, seen(where, turns=(turn(1, "a", 0),)), EMPTY)
    assert line.text == "may preempt until 2023-11-14T22:18:20Z"
    remade = EMPTY.about("uid", ATTEMPT)
    remade = type(remade)("uid", ATTEMPT, remade={"a": Remade(1, at(1))})
    assert "made anew" in said(cluster("a"), seen(), remade).text


def test_a_cluster_that_fails_says_so_until_it_works() -> None:
    """Nobody learned that a worker answers 500: a copy was about to be made, for ever."""
    fails = EMPTY.fails("a", "no Workload could be made there yet: HTTP 500 Internal Server Error")
    line = said(cluster("a"), seen(), fails)
    assert line == Line("Failing", "no Workload could be made there yet: HTTP 500 Internal Server Error")
    assert said(cluster("a", admitted()), seen(), fails).text.startswith("admitted, but no Workload")
    assert (
        said(cluster("b"), seen(), fails).kind == said(cluster("a"), seen(), fails.works("a")).kind == ABOUT
    )


def test_the_message_says_since_when_quota_is_held_and_has_room() -> None:
    """8602."""
    found, kinds = pending("check", [("a", Line("Away", "x")), ("b", Line("Lost", "y"))], ATTEMPT)
    assert found.message.splitlines() == [
        f"No cluster has it yet; its quota is held since {ATTEMPT}.",
        "a: x",
        "b: y",
    ]
    assert kinds == ("a Away", "b Lost")
    long, _ = pending("check", [("a", Line("Away", "x" * LIMIT))], ATTEMPT)
    assert len(long.message) == LIMIT
    none, _ = pending("check", [], ATTEMPT)
    assert "MultiKueueConfig is missing" in none.message


def test_another_text_comes_every_ten_seconds_and_another_reason_at_once() -> None:
    one, kinds = pending("check", [("a", Line("Waits", "1"))], ATTEMPT)
    two, _ = pending("check", [("a", Line("Waits", "2"))], ATTEMPT)
    memory, told, due = throttled(EMPTY, one, kinds, at(0))
    assert (told, due) == (one, None)
    assert throttled(memory, two, kinds, at(9.9))[1:] == (one, at(10))
    assert throttled(memory, two, kinds, at(10))[1:] == (two, None)
    assert throttled(memory, one, kinds, at(5))[1:] == (one, None)
    assert throttled(memory, two, ("a Lost",), at(1))[1:] == (two, None)


def report(*lines: tuple[str, Line]) -> tuple[CheckReport, tuple[str, ...]]:
    return pending("check", lines, "2026-01-01T00:00:00Z")


@pytest.mark.parametrize("kind", [ABOUT, LOOKS, TAKEN])
def test_what_soon_passes_is_not_written_at_once(kind: str) -> None:
    """While copies are made and admitted, each write of the message would be one more before the choice."""
    first, kinds = report(("alpha", Line("Gated", "waits for its turn")), ("beta", Line(ABOUT, "soon")))
    memory, told, _ = throttled(EMPTY, first, kinds, NOW)
    later, kinds = report(("alpha", Line(kind, "passes")), ("beta", Line(kind, "passes")))
    memory, told, due = throttled(memory, later, kinds, NOW + 1)
    assert (told, due) == (first, NOW + EVERY)
    _, told, due = throttled(memory, later, kinds, NOW + EVERY)
    assert (told, due) == (later, None)


def test_a_reason_that_stays_is_written_at_once() -> None:
    first, kinds = report(("alpha", Line(ABOUT, "soon")), ("beta", Line(ABOUT, "soon")))
    memory, _, _ = throttled(EMPTY, first, kinds, NOW)
    later, kinds = report(("alpha", Line(LOOKS, "not yet")), ("beta", Line("Gated", "waits for its turn")))
    memory, told, _ = throttled(memory, later, kinds, NOW + 1)
    assert told == later
    fewer, kinds = report(("alpha", Line(LOOKS, "not yet")))
    assert throttled(memory, fewer, kinds, NOW + 2)[1] == fewer
