"""Logs of changes say what has changed since somebody read them, or that they do not know."""

import pytest

from nodes.state.columns import change_log
from nodes.state.columns.change_log import ChangeLog


def test_a_log_tells_what_was_noted_since() -> None:
    log: ChangeLog[str] = ChangeLog()
    assert log.since(0) == []
    log.note("a")
    log.note("b")
    assert (log.count, log.since(0), log.since(1), log.since(2)) == (2, ["a", "b"], ["b"], [])


def test_a_log_does_not_know_what_was_before_it_nor_what_it_has_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_log, "REMEMBERED", 2)
    log: ChangeLog[int] = ChangeLog()
    for number in range(4):
        log.note(number)
    assert log.since(-1) is None
    assert log.since(1) is None
    assert log.since(2) == [2, 3]
