"""How long `reprieve page` takes until it prints its address, beside what it has to read."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from bench.dump import dump
from bench.page_children import Stub, cpu_of, page, printed
from bench.page_figures import Figure
from bench.page_world import Size

__all__ = ["of_a_dump", "of_a_live_one"]

NOW: Final = "2026-03-01T12:00:00Z"
ROUNDS: Final = 3


def _command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("reprieve")), *arguments]


def of_a_dump(size: Size, folder: Path) -> Figure:
    """The CPU time until the page of a dump is there, beside a plan of it. They take turns."""
    path = folder / "dump.json"
    dump(path, size.nodes, size.pods)
    pages, plans = list[float](), list[float]()
    for _ in range(ROUNDS):
        with printed(_command("page", "--no-open", "--now", NOW, "-f", str(path)), {}) as (_, _, pid):
            pages.append(cpu_of(pid))
        plans.append(_cpu_of_plan(path))
    whole, plan = statistics.median(pages), statistics.median(plans)
    says = f"{whole:.1f} s of CPU, {plan:.1f} s for reprieve plan; {path.stat().st_size / 1e6:.0f} MB"
    return Figure("page of a dump, more than a plan of it", whole - plan, 1.0, "CPU s", remark=says)


def _cpu_of_plan(path: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        _command("plan", "-f", str(path), "--for", "default/hero"), stdout=subprocess.DEVNULL, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_a_live_one(stub: Stub) -> Figure:
    """The time until the page of a live cluster is there, beside that of the lists. They take turns.

    Somebody has listed before: the stub is slower for the first one.
    """
    command = _command("page", "--no-open", "--kubeconfig", str(stub.kubeconfig))
    pages, mirrors = list[float](), list[float]()
    for _ in range(ROUNDS):
        with page("mirror", stub.kubeconfig) as mirror:
            mirrors.append(mirror.listed)
        with printed(command, {}) as (_, seconds, _):
            pages.append(seconds)
            time.sleep(0.1)
    whole, lists = statistics.median(pages), statistics.median(mirrors)
    says = f"{whole:.1f} s, {lists:.1f} s for the mirror alone"
    return Figure("page of a live cluster, more than its lists", whole - lists, 3.0, "s", remark=says)
