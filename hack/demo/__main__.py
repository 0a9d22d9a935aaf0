"""Runs the demo. REPRIEVE_DEMO=offline stops after the plan for a file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.text import Text

from hack.controlplane.components import QUOTA_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from hack.demo import clusters, queues
from hack.demo.stage import Side, View

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
REPRIEVE = Path(sys.executable).with_name("reprieve")
LIMIT_SECONDS = 60.0
QUIET_SECONDS = 8.0
OURS = Options(reprieve=True, reprieve_settings={"quota": {"mode": "Enforce"}}, manifests=QUOTA_FOLDERS)


def main() -> int:
    """Run both parts. The exit code says whether everything went as promised."""
    console = Console()
    offline(console)
    if os.environ.get("REPRIEVE_DEMO") == "offline":
        return 0
    return 0 if live(console) else 1


def offline(console: Console) -> None:
    """Plan for a file with the same engine. This needs no control plane."""
    file = EXAMPLES / "training-cluster.yaml"
    console.print(Rule("[bold]1[/]  Ask first: a plan for a cluster in a file"))
    command = ["reprieve", "plan", "-f", f"examples/{file.name}", "--for", "research/llama-train"]
    console.print(Text("$ " + " ".join(command), style="bold"))
    console.file.flush()
    subprocess.run([REPRIEVE, *command[1:]], cwd=EXAMPLES.parent, check=True)


def live(console: Console) -> bool:
    """Run the same pods on two control planes: with the scheduler alone, and with reprieve. Then three control planes
    are a manager and its worker clusters."""
    with tempfile.TemporaryDirectory(prefix="reprieve-demo-") as folder:
        alone = ControlPlane(Path(folder) / "alone", Options())
        ours = ControlPlane(Path(folder) / "ours", OURS)
        with alone, ours:
            sides = [Side("kube-scheduler alone", alone), Side("with reprieve", ours)]
            console.print(Rule("[bold]2[/]  Live: a gang of three, three full nodes"))
            console.print(
                "Unmodified kube-schedulers 1.37; each has its API server, etcd, and nodes played by KWOK."
            )
            fits = _fitting(console, sides)
            _both(sides, Side.clear)
            console.print(Rule("[bold]3[/]  Live: a gang of four there"))
            waits = _hopeless(console, sides)
            _both(sides, Side.clear)
            console.print(Rule("[bold]4[/]  Live: Jobs of two teams that lend each other quota"))
            queued = queues.show(console, ours.client)
        console.print(Rule("[bold]5[/]  Live: one Job, two full clusters"))
        return clusters.show(console, Path(folder) / "clusters") and queued and waits and fits


def _fitting(console: Console, sides: list[Side]) -> bool:
    _fill(console, sides)
    _both(sides, lambda side: side.start_gang(3))
    start = time.monotonic()
    views = _show(console, sides, lambda views: all(view.count("train") == 3 for view in views))
    seconds = time.monotonic() - start
    if views[1].count("train") < 3:
        console.print("[red]The gang was not bound.[/]")
        return False
    console.print(
        f"Both gangs run, {seconds:.1f} s after their last member came. Ours was planned as one, written down, and "
        f"bound whole; evicted, no one in vain: {', '.join(sorted(sides[1].evicted))}.\n"
    )
    return len(sides[1].evicted) == 3


def _hopeless(console: Console, sides: list[Side]) -> bool:
    _fill(console, sides)
    _both(sides, lambda side: side.start_gang(4))
    end = time.monotonic() + QUIET_SECONDS
    views = _show(console, sides, lambda views: views[0].count("train") == 3 and time.monotonic() > end)
    console.print(
        f"Alone, the scheduler has evicted {len(sides[0].evicted)} pods, and the gang is in pieces: "
        f"{views[0].count('train')} of 4 run, and wait for the fourth."
    )
    console.print(f"With reprieve {len(sides[1].evicted)} pods were evicted. The PodGroup says why:")
    console.print(Text(f"  {sides[1].why()}", style="bold"))
    return not sides[1].evicted and bool(sides[0].evicted)


def _fill(console: Console, sides: list[Side]) -> None:
    _both(sides, Side.fill)
    _show(console, sides, lambda views: all(view.count("batch") == 3 for view in views))


def _both(sides: list[Side], act: Callable[[Side], None]) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(act, sides))


def _show(console: Console, sides: list[Side], done: Callable[[list[View]], bool]) -> list[View]:
    """Follow the sides until `done`, at most a minute. A terminal shows every step, a pipe only the end."""
    views = [side.look() for side in sides]

    def drawn() -> RenderableType:
        return Columns([side.draw(view) for side, view in zip(sides, views, strict=True)])

    end = time.monotonic() + LIMIT_SECONDS
    with Live(drawn(), console=console, auto_refresh=False, transient=True) as screen:
        while not done(views) and time.monotonic() < end:
            time.sleep(0.1)
            views = [side.look() for side in sides]
            if console.is_terminal:
                screen.update(drawn(), refresh=True)
    console.print(drawn())
    return views


if __name__ == "__main__":
    sys.exit(main())
