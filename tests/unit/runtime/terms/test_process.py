"""A process: what runs in it, when it ends, and whether it is ready."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from api.clock import SYSTEM_CLOCK
from runtime.terms import process
from runtime.terms.process import run_process
from runtime.terms.term import EternalTerms, Term
from serving.listeners import serving
from serving.ops import Check, ops_app
from serving.sections import OpsConfiguration
from tests.kit.views import unconnected
from tests.kit.waiting import until

OPS = OpsConfiguration(bind_address="127.0.0.1", port=0)


async def forever() -> None:
    await asyncio.Event().wait()


class Part:
    """Notes when it listens; `fault` is its check's."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]] = forever) -> None:
        self.log: list[str] = []
        self.fault: str | None = None
        self.work = work

    def checks(self) -> Mapping[str, Check]:
        return {"part": lambda: self.fault, "shared": lambda: None}

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        self.log.append("listens")
        yield
        self.log.append("closed")

    def tasks(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        return {"work": self.work()}


class Leader:
    """A controller that has a fault of its own all the time."""

    name = "leader"

    def __init__(self) -> None:
        self.terms: list[int] = []

    def checks(self) -> Mapping[str, Check]:
        return {"leader": lambda: "no CRD", "shared": lambda: "is the part's to say"}

    async def lead(self, term: Term) -> None:
        self.terms.append(term.number)
        await forever()


async def test_it_runs_until_it_is_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[int] = []

    @asynccontextmanager
    async def noted(*arguments: Any) -> AsyncIterator[int]:
        async with serving(*arguments) as port:
            ports.append(port)
            yield port

    monkeypatch.setattr(process, "serving", noted)
    part, leader = Part(), Leader()
    running = asyncio.create_task(
        run_process(OPS, unconnected(), [part], [leader], EternalTerms(SYSTEM_CLOCK))
    )
    await until(lambda: leader.terms)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{ports[0]}") as session:
        async with session.get("/readyz?verbose") as answer:
            assert answer.status == 200
            lines = (await answer.text()).splitlines()
            assert lines == ["[+]part ok", "[+]shared ok", "[+]stopping ok", "[!]leader no CRD"]
        part.fault = "not yet"
        async with session.get("/readyz") as answer:
            assert answer.status == 503
            assert "[-]part not yet" in await answer.text()
    assert part.log == ["listens"]
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(running, 5)
    assert (leader.terms, part.log) == ([1], ["listens", "closed"])


class Slow(Leader):
    """It takes its time to end, as long as `go_on` is not set."""

    def __init__(self) -> None:
        super().__init__()
        self.ends, self.go_on = asyncio.Event(), asyncio.Event()

    async def lead(self, term: Term) -> None:
        try:
            await super().lead(term)
        finally:
            self.ends.set()
            await self.go_on.wait()


class Followed(EternalTerms):
    """Notes what happens at the end, in order."""

    def __init__(self, log: list[str]) -> None:
        super().__init__(SYSTEM_CLOCK)
        self.log = log

    async def follow(self) -> None:
        self.log.append("follows")
        await forever()


class Draining(Part):
    """It answers for a while when it is to end."""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        yield
        await asyncio.sleep(0)
        self.log.append("drained")


async def test_it_is_unready_first_then_ends_its_term_and_answers_to_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ports: list[int] = []

    @asynccontextmanager
    async def noted(*arguments: Any) -> AsyncIterator[int]:
        async with serving(*arguments) as port:
            ports.append(port)
            yield port

    monkeypatch.setattr(process, "serving", noted)
    part, leader = Draining(), Slow()
    terms = Followed(part.log)
    running = asyncio.create_task(run_process(OPS, unconnected(), [part], [leader], terms))
    await until(lambda: leader.terms)
    os.kill(os.getpid(), signal.SIGTERM)
    await leader.ends.wait()
    async with (
        aiohttp.ClientSession(f"http://127.0.0.1:{ports[0]}") as session,
        session.get("/readyz") as answer,
    ):
        assert answer.status == 503
        assert "[-]stopping the process ends" in await answer.text()
    assert part.log == []
    leader.go_on.set()
    await asyncio.wait_for(running, 5)
    assert part.log == ["follows", "drained"]


async def test_it_ends_when_a_part_ends(capsys: pytest.CaptureFixture[str]) -> None:
    async def fail() -> None:
        raise OSError("broken pipe")

    part = Part(fail)
    ended = run_process(OPS, unconnected(), [part], [], EternalTerms(SYSTEM_CLOCK))
    assert not await asyncio.wait_for(ended, 5)
    assert part.log == ["listens", "closed"]
    assert "broken pipe" in capsys.readouterr().out


async def test_an_address_that_is_taken_is_raised() -> None:
    async with serving(ops_app({}), OPS) as port:
        taken = OpsConfiguration(bind_address="127.0.0.1", port=port)
        with pytest.raises(OSError, match="address already in use"):
            await run_process(taken, unconnected(), [], [], EternalTerms(SYSTEM_CLOCK))
