"""Equals say why they wait, little by little."""

from __future__ import annotations

import asyncio
from typing import cast

from controllers.quota.equals import AT_ONCE, QUIET, Equals
from controllers.quota.facts import Facts
from controllers.quota.life import Waiting
from controllers.quota.writer import WorkloadWriter
from quota.state import QuotaState
from tests.kit.quota import workload
from tests.kit.waiting import until


class Writer:
    """As far as it is asked."""

    def __init__(self) -> None:
        self.has_room, self.writing = True, 0

    def __len__(self) -> int:
        return self.writing


class Stage:
    def __init__(self) -> None:
        self.facts = Facts(QuotaState(), lambda _: None, lambda _: None)
        self.writer, self.looked = Writer(), list[str]()
        self.equals = Equals(self.facts, cast(WorkloadWriter, self.writer), self.looked.append)

    def waiting(self, name: str) -> Waiting | None:
        return self.facts.around(workload(name, "q", 1)).waiting


KEYS = [f"ns/w{number:02}" for number in range(3 * AT_ONCE)]


def test_they_get_the_reason_at_once_and_are_looked_at_little_by_little() -> None:
    stage = Stage()
    stage.equals.add(KEYS, "WaitingForQuota")
    waiting = stage.waiting("w23")
    assert waiting is not None
    assert (waiting.reason, waiting.of_equal) == ("WaitingForQuota", True)
    stage.equals.turn()
    assert stage.looked == KEYS[:AT_ONCE]
    stage.writer.writing = QUIET + 1
    stage.equals.turn()
    assert stage.looked == KEYS[: AT_ONCE + 1]
    stage.writer.has_room = False
    stage.equals.turn()
    assert stage.looked == KEYS[: AT_ONCE + 1]


def test_who_knows_already_is_not_looked_at_again() -> None:
    stage = Stage()
    for _ in range(2):
        stage.equals.add(["ns/a"], "WaitingForQuota")
    stage.equals.turn()
    stage.equals.add(["ns/a"], "WaitingForQuota")
    stage.equals.turn()
    assert stage.looked == ["ns/a"]
    stage.equals.add(["ns/a"], "ExceedsMaxQuota")
    stage.equals.turn()
    assert stage.looked == ["ns/a", "ns/a"]


async def test_it_goes_on_until_all_have_been_looked_at() -> None:
    stage = Stage()
    running = asyncio.create_task(stage.equals.run())
    stage.equals.add(KEYS, "WaitingForQuota")
    await until(lambda: len(stage.looked) == len(KEYS))
    stage.equals.add(["ns/late"], "WaitingForQuota")
    await until(lambda: stage.looked == [*KEYS, "ns/late"])
    running.cancel()
