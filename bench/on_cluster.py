"""`make load KUBECONFIG=...`: the shapes of the bench on any cluster with KWOK and reprieve, such as a kind cluster.

Each shape runs in a namespace, on nodes and with priority classes of its own, and all of it is removed afterwards. The
sizes are given. The exit code is 1 if a gang stays in pieces, if a victim stays, or if a member is not bound.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from rich.console import Console

from bench import evictions, floor, gang, waiting
from bench.metrics import Samples, samples_of
from bench.place import Place
from hack.controlplane.client import Client

__all__ = ["main"]

PIECES_SECONDS: Final = 300.0
"""A gang in pieces has this long to be resolved: partialGangSeconds (120), and the time to evict and to bind."""
LOOK_SECONDS: Final = 2.0

S = TypeVar("S")


def main(arguments: list[str]) -> int:
    """Run the shapes that have a size. The exit code says whether no gang is in pieces and all was served."""
    options = _options().parse_args(arguments)
    console = Console()
    client = Client.of_kubeconfig(options.kubeconfig)
    metrics = partial(samples_of, options.metrics) if options.metrics else None
    shapes: dict[str, Callable[[Place], bool]] = {}
    if options.waiting:
        shapes["waiting"] = partial(_waiting, console, options.waiting, metrics, not options.without_reprieve)
    if options.interleaved:
        shapes["interleaved"] = partial(_interleaved, console, options.interleaved)
    if options.evictions:
        shapes["evictions"] = partial(_evictions, console, options.evictions, options.kubeconfig)
    try:
        served = [_run(console, client, name, shape) for name, shape in shapes.items()]
        return 0 if all(served) else 1
    finally:
        client.close()


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench.on_cluster", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument(
        "--waiting", type=_size(waiting.Size.of), metavar="NODES,PODS,GANGS", help="gangs that wait"
    )
    parser.add_argument(
        "--interleaved", type=_size(gang.Size.of), metavar="NODES,MEMBERS", help="a gang on full nodes"
    )
    parser.add_argument(
        "--evictions", type=_size(evictions.Size.of), metavar="PLANS,VICTIMS", help="many plans at once"
    )
    parser.add_argument("--metrics", metavar="URL", help="where reprieve's metrics can be read")
    parser.add_argument(
        "--without-reprieve", action="store_true", help="reprieve does not run: only the pods of `--waiting`"
    )
    return parser


def _size(of: Callable[[str], S]) -> Callable[[str], S | None]:
    """A size from numbers with commas, None for an empty text."""

    def size(text: str) -> S | None:
        return of(text) if text else None

    return size


def _run(console: Console, client: Client, name: str, shape: Callable[[Place], bool]) -> bool:
    """One shape in a place of its own."""
    place = Place(client, f"load-{name}-{secrets.token_hex(3)}")
    try:
        served = shape(place)
        pieces = _wait_whole(place)
        if pieces:
            console.print(f"[red]in pieces[/]: {', '.join(pieces)}")
        return served and not pieces
    finally:
        place.remove()


def _wait_whole(place: Place) -> list[str]:
    """The gangs that are still in pieces after a while."""
    deadline = time.monotonic() + PIECES_SECONDS
    while (pieces := place.in_pieces()) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    return pieces


def _waiting(
    console: Console, size: waiting.Size, metrics: Callable[[], Samples] | None, groups: bool, place: Place
) -> bool:
    console.print(f"[bold]Waiting[/]: {size.nodes:,} nodes, {size.pods} pods each, {size.gangs:,} gangs")
    load = waiting.Waiting(place, size, metrics)
    load.fill()
    load.wait_with(size.gangs, are_groups=groups)
    measured = load.measure(groups=groups)
    for table in waiting.tables({"gangs wait" if groups else "without reprieve": measured}):
        console.print(table)
    return bool(measured.ordinary)


def _interleaved(console: Console, size: gang.Size, place: Place) -> bool:
    console.print(f"[bold]Interleaved[/]: a gang of {size.members} on {size.nodes:,} full nodes")
    case = gang.Interleaved(place, size)
    case.fill()
    result = case.preempt()
    console.print(
        f"{result.groups} groups ({size.enough} are enough) and {result.pods} pods evicted, "
        f"{result.bound} of {size.members} members bound in {result.seconds:.1f} s"
    )
    console.print(gang.steps_table(result))
    return result.bound == size.members


def _evictions(console: Console, size: evictions.Size, kubeconfig: Path, place: Place) -> bool:
    console.print(f"[bold]Evictions[/]: {size.plans} plans of {size.victims} victims at once")
    costs = evictions.beside_bare(place, size, kubeconfig, [floor.OURS])
    console.print(floor.costs_table(costs))
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
