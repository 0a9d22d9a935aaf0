"""Random load on a control plane of its own.

python -m tests.e2e.stress [--seconds N] [--seed N]
"""

from __future__ import annotations

import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click

from hack.controlplane.binaries import BinariesError
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import ProcessFailedError
from tests.e2e.stress.run import OPTIONS, stress


@click.command()
@click.option("--seconds", type=click.IntRange(1), default=600, show_default=True, help="Of load.")
@click.option("--seed", type=int, default=None, help="Decides what is done. Default: another one each time.")
@click.option("--keep", is_flag=True, help="Keep logs, audit log and history also of a good run.")
def main(seconds: int, seed: int | None, keep: bool) -> None:
    """Load a control plane at random, and judge what reprieve did by watch and audit log."""
    seed = random.randrange(1 << 32) if seed is None else seed
    plane = ControlPlane(Path(tempfile.mkdtemp(prefix="reprieve-stress-")), replace(Options(), **OPTIONS))
    try:
        with plane:
            result = stress(plane, seed, seconds)
    except (BinariesError, ProcessFailedError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(result)
    if result.violations or keep:
        click.echo(f"the logs, the audit log and the history are in {plane.layout.logs}", err=True)
    else:
        plane.discard()
    sys.exit(bool(result.violations))


if __name__ == "__main__":
    main(prog_name="python -m tests.e2e.stress")
