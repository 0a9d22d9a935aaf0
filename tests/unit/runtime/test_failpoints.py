"""Failpoints: off unless asked for, and strict about what they are asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from runtime import failpoints


@pytest.fixture(autouse=True)
def _off() -> Iterator[None]:
    yield
    failpoints.configure({})


async def test_a_failpoint_that_is_off_does_nothing() -> None:
    await failpoints.failpoint("anything")
    assert failpoints.delay("anything") == 0.0


async def test_a_failpoint_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("runtime.failpoints.asyncio.sleep", sleep)
    failpoints.configure(failpoints.parse("planner.delay=3s, other=250ms"))
    await failpoints.failpoint("planner.delay")
    assert waited == [3.0]
    assert failpoints.delay("other") == 0.25


@pytest.mark.parametrize("text", ["name", "name=", "=3s"])
def test_a_pair_needs_both_parts(text: str) -> None:
    with pytest.raises(ValueError, match="name=action"):
        failpoints.parse(text)


@pytest.mark.parametrize("action", ["3", "soon", "3 s", "-1s"])
def test_an_action_is_a_duration_or_kill(action: str) -> None:
    with pytest.raises(ValueError, match="neither kill nor a duration"):
        failpoints.configure({"name": action})


def test_a_process_dies_where_it_was_told_to() -> None:
    program = "import asyncio; from runtime.failpoints import failpoint; asyncio.run(failpoint('here'))"
    environment = {**os.environ, failpoints.ENVIRONMENT: "here=kill"}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL


def test_a_process_dies_where_it_cannot_wait() -> None:
    """There a duration has no effect."""
    program = "from runtime.failpoints import kill_here; kill_here('other'); kill_here('here')"
    environment = {**os.environ, failpoints.ENVIRONMENT: "other=3s,here=kill"}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
