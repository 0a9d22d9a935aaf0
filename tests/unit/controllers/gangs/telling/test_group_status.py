"""What PodGroups say while their gangs live: what is written, how often, and what it must not disturb."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from api.groups import SCHEDULED, PodGroup
from kube.errors import ApiError
from tests.kit.objects import BIG, gang, member, node, pod
from tests.kit.stage import Stage, staged

GROUPS = "/apis/reprieve.dev/v1alpha1/podgroups"
LITTLE = 0.1
"""Longer than changes are collected."""
KEY = ("default", "gang")


def victims(count: int) -> list[Any]:
    return [pod(f"v{number}", node=f"n{number}", requests=BIG, priority=1) for number in range(count)]


def full(count: int) -> list[Any]:
    return [*(node(f"n{number}") for number in range(count)), *victims(count)]


async def later(stage: Stage, seconds: float = 1.1) -> None:
    """Something is looked at `seconds` later, and written a little after that."""
    stage.clock += seconds
    await stage.settle()
    stage.clock += LITTLE
    await stage.settle()
    await stage.written()


def says(stage: Stage) -> tuple[str, str]:
    """The reason and the message."""
    return stage.api.waits["gang"][-1]


def status(stage: Stage) -> dict[str, Any]:
    """The numbers in the status, as they are stored."""
    stored = stage.api.of(GROUPS)["gang"]["status"]
    return {name: value for name, value in stored.items() if name != "conditions"}


def condition(stage: Stage) -> dict[str, Any]:
    stored = stage.api.of(GROUPS)["gang"]["status"]["conditions"]
    (found,) = (each for each in stored if each["type"] == SCHEDULED)
    return dict(found)


async def test_a_gathering_gang_says_how_many_members_exist() -> None:
    async with staged(gang(minimum=4, generation=7), member(0), member(1)) as stage:
        await stage.settle()
        await later(stage)
        assert says(stage) == ("Gathering", "2 of 4 members exist")
        assert status(stage) == {
            "observedGeneration": 7,
            "members": 2,
            "requiredMembers": 4,
            "boundMembers": 0,
            "gatedPods": 0,
        }
        assert condition(stage)["observedGeneration"] == 7
        assert condition(stage)["status"] == "False"


async def test_a_group_without_pods_and_pods_with_a_gate_of_others() -> None:
    async with staged(gang(minimum=2)) as stage:
        await stage.settle()
        await later(stage)
        assert says(stage) == ("Gathering", "0 of 2 members exist")
        stage.add(member(0), member(1, gated=True))
        await stage.settle()
        await later(stage)
        assert says(stage)[0] == "SchedulingGated"
        assert (status(stage)["members"], status(stage)["gatedPods"]) == (1, 1)


async def test_every_phase_of_an_eviction() -> None:
    """In order, with the numbers of pods that are gone and of members that are bound."""
    async with staged(*full(2), gang(minimum=2), member(0), member(1)) as stage:
        stage.agrees = False
        await stage.settle()
        await later(stage)
        assert says(stage)[0] == "ConfirmationPending"
        assert "confirmed 0 of 2 members" in says(stage)[1]
        stage.agrees = True
        await stage.settle()
        await later(stage)
        assert says(stage)[0] == "FreeingRoom"
        assert "0 of 2 pods gone" in says(stage)[1]
        first, second = victims(2)
        stage.delete(first)
        await later(stage)
        assert "1 of 2 pods gone" in says(stage)[1]
        stage.delete(second)
        await later(stage)
        assert says(stage)[0] == "Ready"
        assert "0 of 2 planned members are bound" in says(stage)[1]
        stage.add(member(0, node="n0"), member(1, node="n1"))
        await later(stage)
        assert says(stage) == ("Scheduled", "2 members are bound, and 2 must run")
        assert condition(stage)["status"] == "True"


async def test_a_gang_that_fits_nowhere_says_why() -> None:
    async with staged(node("n0"), gang(minimum=2), member(0), member(1)) as stage:
        await stage.settle()
        await later(stage)
        assert says(stage) == ("Unschedulable", stage.api.group_said["gang"])


async def test_how_long_it_backs_off_is_said_until_then() -> None:
    def refuse(method: str, _path: str) -> ApiError | None:
        return ApiError(403, "Forbidden", "not this one") if method == "DELETE dry run" else None

    async with staged(*full(1), gang(minimum=1), member(0)) as stage:
        stage.api.refuse = refuse
        await stage.settle()
        await later(stage, LITTLE)
        reason, message = says(stage)
        assert reason == "BackingOff"
        assert "because of EvictionRefused" in message
        await later(stage, 5.0)
        assert says(stage)[0] != "BackingOff"


# ---- how often


async def test_once_a_second_at_most_and_the_last_state_in_the_end() -> None:
    async with staged(gang(minimum=100)) as stage:
        await stage.settle()
        await later(stage)
        before = len(stage.api.waits["gang"])
        for number in range(25):
            stage.add(member(number))
            await later(stage, LITTLE)
        assert 5 <= len(stage.api.waits["gang"]) - before <= 6
        await later(stage)
        assert says(stage) == ("Gathering", "25 of 100 members exist")


async def test_what_has_not_changed_is_not_written_again() -> None:
    async with staged(gang(minimum=2), member(0)) as stage:
        await stage.settle()
        await later(stage)
        count = len(stage.api.written)
        for _ in range(3):
            stage.leading.gangs.touch(KEY)
            await later(stage)
        assert len(stage.api.written) == count


async def test_the_next_process_writes_nothing_that_is_said_already() -> None:
    async with staged(gang(minimum=2), member(0)) as stage:
        await stage.settle()
        await later(stage)
        again = stage.restart()
        stored = stage.api.of(GROUPS)["gang"]
        again.add(msgspec.convert(stored, PodGroup), member(0))
        count = len(stage.api.written)
        await again.settle()
        await later(again)
        assert len(stage.api.written) == count
        again.add(member(1))
        await later(again)
        assert len(stage.api.written) > count
        await again.close()


async def test_another_group_of_the_name_says_it_anew() -> None:
    async with staged(gang(minimum=2)) as stage:
        await stage.settle()
        await later(stage)
        stage.delete(gang(minimum=2))
        other = gang(minimum=2)
        other.metadata.uid = "another"
        stage.add(other)
        await later(stage)
        assert stage.api.waits["gang"] == [("Gathering", "0 of 2 members exist")] * 2


async def test_a_state_that_comes_back_before_the_watch_shows_the_other_one_is_written() -> None:
    """What the watch shows still says so, but the PodGroup does not."""
    async with staged(gang(minimum=3), member(0)) as stage:
        await later(stage)
        await later(stage)
        stage.add(msgspec.convert(stage.api.of(GROUPS)["gang"], PodGroup))
        stage.add(member(1))
        await later(stage)
        stage.delete(member(1))
        await later(stage)
        assert [message for _, message in stage.api.waits["gang"]] == [
            f"{count} of 3 members exist" for count in (1, 2, 1)
        ]
        assert status(stage)["members"] == 1


# ---- what it must not disturb


async def test_it_moves_no_gang_and_wakes_no_pod() -> None:
    """The watch shows what we wrote."""
    async with staged(gang(minimum=2), member(0)) as stage:
        await stage.settle()
        await later(stage)
        stored = stage.api.of(GROUPS)["gang"]
        assert stored["status"]["members"] == 1
        version = stage.controller.known.mirror.tables.version
        stage.add(msgspec.convert(stored, PodGroup))
        assert stage.controller.known.mirror.tables.version == version
        assert stage.leading.gangs.touched == []
        assert stage.api.woken == []
        assert stage.api.said == {}


async def test_no_plan_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with staged(*full(1), gang(minimum=1), member(0)) as stage:
        write, answered = stage.leading.writer.write_group_condition, asyncio.Event()

        async def slow(group: Any, type_: str, *said: Any, **fields: Any) -> None:
            if type_ == SCHEDULED:
                await answered.wait()
            await write(group, type_, *said, **fields)

        monkeypatch.setattr(stage.leading.writer, "write_group_condition", slow)
        for _ in range(3):
            stage.clock += LITTLE
            await stage.settle()
        assert stage.api.deleted == ["v0"]
        assert stage.api.waits == {}
        answered.set()
        await later(stage)
        await later(stage)
        assert says(stage)[0] == "FreeingRoom", "the last state is written in the end"


async def test_it_is_written_once_the_api_server_takes_it() -> None:
    def refuse(method: str, path: str) -> ApiError | None:
        is_status = method == "PATCH" and "podgroups" in path
        return ApiError(403, "Forbidden", "not now") if is_status else None

    async with staged(gang(minimum=2), member(0)) as stage:
        stage.api.refuse = refuse
        await stage.settle()
        await later(stage)
        assert stage.api.waits == {}
        stage.api.refuse = lambda _method, _path: None
        await later(stage, 5.0)
        assert says(stage) == ("Gathering", "1 of 2 members exist")
