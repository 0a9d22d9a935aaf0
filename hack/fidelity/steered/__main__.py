"""Prints how often kube-scheduler evicts what a steered plan says.

It exits with 1, and shows small worlds, where it evicts others.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from hack.controlplane.binaries import BinariesError
from hack.fidelity.steered.judging import Result, Tally
from hack.fidelity.steered.stage import Stage
from hack.fidelity.steered.world import World, smaller
from hack.fidelity.steered.worlds import random_world

__all__ = ["main", "shrink"]

SHOWN: Final = 3
"""Worlds that are shrunk."""
AT_ONCE: Final = 6
"""Smaller worlds that are tried together."""
TRIES: Final = 120
"""Smaller worlds that are tried in all."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="of the first world; the others follow")
    parser.add_argument("--shrink", type=int, default=SHOWN, help="worlds with differences to make smaller")
    given = parser.parse_args(arguments)
    tally, begin = Tally(), time.monotonic()
    try:
        with TemporaryDirectory(prefix="reprieve-steered-") as folder, Stage.standing(Path(folder)) as stage:
            worlds = [random_world(given.seed + number) for number in range(given.worlds)]
            for result in stage.run(worlds):
                tally.add(result)
            _print(tally, time.monotonic() - begin)
            for result in tally.wrong[: given.shrink]:
                _show(shrink(result, lambda some: [*stage.run(some)]))
    except BinariesError as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if tally.wrong else 0


def shrink(result: Result, run: Callable[[Sequence[World]], list[Result]], tries: int = TRIES) -> Result:
    """A smaller world with a fault of the same kind of plan."""
    while tries > 0:
        worlds = islice(smaller(result.world), tries)
        while some := [*islice(worlds, AT_ONCE)]:
            tries -= len(some)
            found = next((each for each in run(some) if each.faults and each.kind == result.kind), None)
            if found is not None:
                result = found
                break
        else:
            break
    return result


def _print(tally: Tally, seconds: float) -> None:
    for kind, number in sorted(tally.kinds.items()):
        print(f"{number:6}  {kind}")
    print(f"{tally.kinds.total()} worlds in {seconds:.0f} s, {tally.evicted} pods evicted,", end=" ")
    print(f"{len(tally.wrong)} worlds differ")
    for result in tally.wrong:
        print(f"  seed {result.world.seed}, {result.kind}: {'; '.join(result.faults)}")


def _show(result: Result) -> None:
    world = result.world
    print(f"seed {world.seed}, smaller: {'; '.join(result.faults)}")
    here = {pod.node for pod in world.pods}
    print(f"  nodes { ({number: world.nodes[number] for number in sorted(here)}) }; minimum {world.minimum}")
    for each in (*world.members, *world.pods, *world.groups, *world.budgets, *world.nominated):
        print(f"  {each}")


if __name__ == "__main__":
    raise SystemExit(main())
