from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from bench import lag
from bench.lag import LATE_SECONDS, REST
from cli import main as command
from kube import lane as lanes
from kube.lane import open_lane


async def slow() -> int:
    await asyncio.sleep(0)
    time.sleep(2 * LATE_SECONDS)  # noqa: ASYNC251  # it holds the loop
    return 3


async def quick() -> int:
    await asyncio.sleep(0)
    return 4


async def serve() -> int:
    open_lane()
    both = [asyncio.create_task(slow()), asyncio.create_task(quick())]
    await asyncio.sleep(0.01)
    return sum(await asyncio.gather(*both))


def test_it_names_what_held_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[int] = []

    def run() -> None:
        with asyncio.Runner() as runner:
            answers.append(runner.run(serve()))

    monkeypatch.setattr(command, "main", run)
    monkeypatch.setattr(lanes, "task_factory", lanes.task_factory)
    lag.main(tmp_path / "lag.json")
    number, held = lag.read(tmp_path / "lag.json")
    assert answers == [7]
    assert held["slow"].longest >= 2 * LATE_SECONDS
    assert held["slow"].seconds >= held["slow"].longest
    assert 1 <= held[REST].turns <= number


def test_it_is_written_though_the_command_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "main", lambda: 1 / 0)
    monkeypatch.setattr(lanes, "task_factory", lanes.task_factory)
    with pytest.raises(ZeroDivisionError):
        lag.main(tmp_path / "lag.json")
    assert lag.read(tmp_path / "lag.json") == (0, {})
