"""Breaks the manager of several clusters on purpose, and looks whether random histories find it.

python -m tests.multicluster.mutations [--only NAME] [--seed N] [--runs N]

Each mutation changes a copy of the tree. One of the runs of that copy has to find something.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from hack.controlplane.plane import ControlPlane, up_together
from tests.e2e.stress.mutations import Edit, mutated
from tests.multicluster.histories import AT_ONCE, judged
from tests.multicluster.trio import MANAGER, Trio, options

TURNS: Final = "controllers/multikueue/life/turns.py"
MUTATIONS: Final[Mapping[str, Sequence[Edit]]] = {
    "all gates at once": (
        Edit(
            TURNS,
            "    act = _open(cluster, seen, turn) if cluster in candidates else None\n"
            "    if act is not None and not _is_open_elsewhere(seen, cluster.name):\n"
            "        unfenced = _fence(seen)\n"
            "        there |= unfenced or {cluster.name: act}\n",
            "    for each in candidates:\n"
            "        if (act := _open(each, seen, turn)) is not None:\n"
            "            there[each.name] = act\n",
        ),
        Edit(
            TURNS,
            '        if cluster.reach != "Connected" or (last is not None and last.cluster == cluster.name):\n',
            "        if True:\n",
        ),
    ),
    "the next gate opens before the last turn is over": (
        Edit(
            TURNS,
            "not is_vain and (now < last.until or _stays_open(seen, candidates, last)):\n",
            "not is_vain and _stays_open(seen, candidates, last):\n",
        ),
        Edit(TURNS, "    if last is not None and not _is_closed(seen, last):\n", "    if False:\n"),
        Edit(TURNS, '    if _is_open_elsewhere(seen, ""):\n', "    if False:\n"),
        Edit(
            TURNS,
            "    if act is not None and not _is_open_elsewhere(seen, cluster.name):\n",
            "    if act is not None:\n",
        ),
        Edit(
            TURNS,
            '        if cluster.reach != "Connected" or (last is not None and last.cluster == cluster.name):\n',
            "        if True:\n",
        ),
    ),
    "the time of a gate is forgotten with the gate": (
        Edit(
            TURNS,
            "    there = _outside(seen, last)\n",
            "    there = _outside(seen, last)\n"
            "    open_ = [each.name for each in seen.clusters if _has_open_gate(each, seen)]\n"
            "    if last is not None and last.cluster not in open_:\n"
            "        last = None\n",
        ),
    ),
    "the copies of the other clusters stay": (
        Edit(
            "controllers/multikueue/life/having.py",
            '    return stop(seen, f"cluster {name} has it", but=name)\n',
            "    return {}\n",
        ),
    ),
    "what has ended is sent again": (
        Edit(
            "controllers/multikueue/life/having.py",
            "        return _finished(seen, memory, cluster, copy)\n",
            '        return _come_back(seen, workload, memory, name, "It has ended", now)\n',
        ),
        Edit(
            "controllers/multikueue/life/having.py",
            "    return None if copy.conditions[FINISHED].reason == OUT_OF_SYNC"
            " else _finished(seen, memory, cluster, copy)\n",
            "    return None\n",
        ),
        Edit(
            "controllers/multikueue/life/having.py",
            "    return job is not None and seen.job is not None and not seen.is_mirrored\n",
            "    return job is not None and not job.has_ended and seen.job is not None and not seen.is_mirrored\n",
        ),
    ),
}
"""By what is wrong then."""


@contextmanager
def own_trio(tree: Path) -> Iterator[Trio]:
    """A trio whose manager runs the code of a tree."""
    with tempfile.TemporaryDirectory(prefix="reprieve-trio-") as folder:
        made = options()
        command = {
            "reprieve_command": (sys.executable, "-P", "-c", "from cli.main import main; main()"),
            "reprieve_environment": {"PYTHONPATH": str(tree)},
        }
        made[f"trio {MANAGER}"] = replace(made[f"trio {MANAGER}"], **command)  # type: ignore[arg-type]  # each fits its field
        planes = {name: ControlPlane(Path(folder) / name, each) for name, each in made.items()}
        up_together(list(planes.values()))
        try:
            trio = Trio(planes)
            trio.fleet.join()
            yield trio
        finally:
            for plane in planes.values():
                plane.down()


@click.command()
@click.option("--only", type=click.Choice(list(MUTATIONS)), default=None, help="Only this mutation.")
@click.option("--seed", type=int, default=None, help="Of the first run. Default: another one each time.")
@click.option("--runs", type=click.IntRange(1), default=4, show_default=True, help="The most runs for each.")
def main(only: str | None, seed: int | None, runs: int) -> None:
    """Break a copy of the tree in one way after the other; random histories have to find it."""
    first = random.randrange(1 << 32) if seed is None else seed
    chosen = {name: edits for name, edits in MUTATIONS.items() if only in (None, name)}
    seeds = range(first, first + runs * AT_ONCE, AT_ONCE)
    failed = [name for name, edits in chosen.items() if not is_found(name, edits, seeds)]
    click.echo(f"seed {first}: {len(chosen)} mutations, failed {failed}")
    sys.exit(bool(failed))


def is_found(name: str, edits: Sequence[Edit], seeds: Sequence[int]) -> bool:
    """Whether one of the runs finds the mutation."""
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-mutation-") as folder,
        own_trio(mutated(edits, Path(folder))) as trio,
    ):
        for seed in seeds:
            result = judged(trio, seed, AT_ONCE)
            if result.wrong:
                click.echo(f"{name}: found by seed {seed}: {result.wrong[0]}")
                return True
    click.echo(f"{name}: NOT FOUND in {len(seeds)} runs")
    return False


if __name__ == "__main__":
    main(prog_name="python -m tests.multicluster.mutations")
