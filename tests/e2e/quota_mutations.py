"""Breaks the quota plane on purpose, and looks whether random runs find it.

python -m tests.e2e.quota_mutations [--only NAME] [--seed N] [--runs N]

Each mutation changes a copy of the tree. One of the runs of that copy has to find something.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from hack.controlplane.plane import ControlPlane
from tests.e2e.quota_load import OPTIONS
from tests.e2e.stress.mirrors import showing
from tests.e2e.stress.mutations import Edit, mutated
from tests.e2e.stress_quota import Result, on_plane, stress

SECONDS: Final = 20
MUTATIONS: Final[Mapping[str, Sequence[Edit]]] = {
    "an admission is not assumed": (
        Edit(
            "controllers/quota/workloads/writer.py",
            "            self._quota.assume(until_written(before, step.workload))\n",
            "            pass\n",
        ),
    ),
    "parked Workloads do not return": (
        Edit(
            "controllers/quota/workloads/following.py",
            "            self.pending.freed({known.tree}, self._now())\n",
            "            pass\n",
        ),
    ),
}
"""By what is wrong then."""


@click.command()
@click.option("--only", type=click.Choice(list(MUTATIONS)), default=None, help="Only this mutation.")
@click.option("--seed", type=int, default=None, help="Of the first run. Default: another one each time.")
@click.option("--runs", type=click.IntRange(1), default=6, show_default=True, help="The most runs for each.")
def main(only: str | None, seed: int | None, runs: int) -> None:
    """Break a copy of the tree in one way after the other; random runs have to find it."""
    seed = random.randrange(1 << 32) if seed is None else seed
    chosen = {name: edits for name, edits in MUTATIONS.items() if only in (None, name)}
    failed = [name for name, edits in chosen.items() if not _is_found(name, edits, range(seed, seed + runs))]
    click.echo(f"seed {seed}: {len(chosen)} mutations, failed {failed}")
    sys.exit(bool(failed))


def _is_found(name: str, edits: Sequence[Edit], seeds: Sequence[int]) -> bool:
    with tempfile.TemporaryDirectory(prefix="reprieve-mutation-") as folder:
        options = {**OPTIONS, **showing(mutated(edits, Path(folder)))}
        for seed in seeds:
            results: list[Result] = []

            def run(plane: ControlPlane, seed: int = seed, results: list[Result] = results) -> bool:
                results.append(
                    stress(plane, seed, SECONDS, removes=False)
                )  # broken as it is, it may hold all
                return True

            on_plane(options, run)
            if results[0].violations:
                click.echo(f"{name}: found\n{results[0]}\n")
                return True
    click.echo(f"{name}: NOT FOUND in {len(seeds)} runs\n")
    return False


if __name__ == "__main__":
    main(prog_name="python -m tests.e2e.quota_mutations")
