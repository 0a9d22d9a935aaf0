"""The process that `bench.page` measures: the page as `reprieve serve` runs it in a cluster, or its mirror alone.

    python -m bench.page_process (page | mirror) KUBECONFIG

It prints the seconds from its start until everything was listed, and then, for each line of its input, what it has used
since the line before. It ends when its input is closed.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
import structlog
import uvloop

from api.clock import SYSTEM_CLOCK
from bench.mirror import memory
from kube.client import ApiClient
from serving.garbage import collect_seldom

__all__ = ["Used"]

TICK_SECONDS: Final = 0.002
"""How often the loop is asked whether it goes on. A stop is known to this much."""


class Used(msgspec.Struct):
    """What a process has used. Times in seconds, memory in bytes."""

    port: int
    listed: float
    """From its start until everything was listed."""
    cpu: float
    resident: int
    peak: int
    stops: list[float]
    """For how long the loop stood, the longest first, at most 20."""
    work: float
    """The most CPU time that the loop took before it came back. Other processes do not matter for it."""


class _Watched:
    """What the loop was seen to do."""

    def __init__(self) -> None:
        self.stops = list[float]()
        self.work = 0.0

    async def run(self) -> None:
        """Note how late the loop comes back, and what it did until then."""
        due, done = time.monotonic() + TICK_SECONDS, time.thread_time()
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now, cpu = time.monotonic(), time.thread_time()
            if now - due > TICK_SECONDS:
                self.stops.append(now - due)
            self.work = max(self.work, cpu - done)
            due, done = now + TICK_SECONDS, cpu

    def taken(self) -> tuple[list[float], float]:
        """The longest stops and the most work since the last call."""
        found = sorted(self.stops, reverse=True)[:20], self.work
        self.stops, self.work = [], 0.0
        return found


@asynccontextmanager
async def _mirror(client: ApiClient) -> AsyncIterator[int]:
    """The tables that the page fills, and nothing else."""
    from quota.state.state import QuotaState  # noqa: PLC0415 - each process loads only what it runs
    from runtime.mirror.views import Views  # noqa: PLC0415
    from runtime.mirror.watched_quota import WatchedQuota  # noqa: PLC0415
    from runtime.mirror.watched_tables import WatchedTables  # noqa: PLC0415

    views = Views(client, optional=True)
    kept = WatchedTables(views, is_complete=False), WatchedQuota(views, QuotaState(partial=True))
    task = asyncio.create_task(views.run())
    await asyncio.gather(*(view.wait_synced() for view in views))
    yield 0
    task.cancel()
    del kept


@asynccontextmanager
async def _page(client: ApiClient) -> AsyncIterator[int]:
    """See `cli.serve.page`."""
    from cli.serve.process import SWITCH_SECONDS  # noqa: PLC0415
    from web.about import Place  # noqa: PLC0415
    from web.configuration import PageConfiguration  # noqa: PLC0415
    from web.readers.door import cluster_door  # noqa: PLC0415
    from web.service import PageService  # noqa: PLC0415
    from web.sources.live import Cluster  # noqa: PLC0415
    from web.statics import read_statics  # noqa: PLC0415

    sys.setswitchinterval(SWITCH_SECONDS)
    settings, source = PageConfiguration(port=0, max_connections=1000), Cluster(client)
    door = cluster_door(
        client,
        SYSTEM_CLOCK,
        recheck_seconds=settings.recheck_seconds,
        session_seconds=settings.session_seconds,
    )
    service = PageService(settings, source, door, Place(""), read_statics())
    tasks = [asyncio.create_task(each) for each in service.tasks().values()]
    async with service.listening():
        await source.wait_synced()
        yield service.port
    for each in tasks:
        each.cancel()


async def _run(what: str, kubeconfig: str, began: float) -> None:
    watched, loop = _Watched(), asyncio.get_running_loop()
    serve = {"mirror": _mirror, "page": _page}[what]
    async with ApiClient.connect(kubeconfig) as client, serve(client) as port:
        listed, cpu = time.monotonic() - began, time.process_time()
        print(listed, flush=True)
        watching = asyncio.create_task(watched.run())
        while await loop.run_in_executor(None, sys.stdin.readline):
            now = time.process_time()
            used = Used(port, listed, now - cpu, *_memory(), *watched.taken())
            print(msgspec.json.encode(used).decode(), flush=True)
            cpu = now
        watching.cancel()


def _memory() -> tuple[int, int]:
    found = memory()
    return found["VmRSS"], found["VmHWM"]


def _began() -> float:
    """When this process was started, in monotonic seconds, to a hundredth."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    since_boot = int(fields[19]) / 100
    return time.monotonic() - (time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot)


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        gc.collect()
        collect_seldom()
        runner.run(_run(sys.argv[1], sys.argv[2], _began()))
