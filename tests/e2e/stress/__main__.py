"""Random load on a control plane of its own.

python -m tests.e2e.stress [--seconds N] [--seed N] [--histories N] [--native Steer|Drive|Off]
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click

from hack.controlplane.binaries import BinariesError
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import ProcessFailedError
from tests.e2e.stress.actions import Action
from tests.e2e.stress.native_groups import ACTIONS_OF_NATIVES
from tests.e2e.stress.owners import ACTIONS_OF_OWNERS, ACTIONS_OF_OWNERS_WITH_FAULTS
from tests.e2e.stress.run import OPTIONS, REPLICATED, SHORT_REST, stress, with_natives


@click.command()
@click.option("--seconds", type=click.IntRange(1), default=600, show_default=True, help="Of load.")
@click.option("--seed", type=int, default=None, help="Decides what is done. Default: another one each time.")
@click.option("--keep", is_flag=True, help="Keep logs, audit log and history also of a good run.")
@click.option(
    "--histories",
    type=click.IntRange(0),
    default=0,
    help="The number of runs, one after the other, each on a plane with two processes of reprieve, and with faults.",
)
@click.option(
    "--native",
    type=click.Choice(["Steer", "Drive", "Off"]),
    default=None,
    help="With kube-scheduler's own PodGroups (feature gate GenericWorkload): planning.nativeGroups.",
)
def main(seconds: int, seed: int | None, histories: int, native: str | None, *, keep: bool) -> None:
    """Load a control plane at random, and judge what reprieve did by watch and audit log."""
    seed = random.randrange(1 << 32) if seed is None else seed
    if not histories:
        sys.exit(_run(seed, seconds, native, keep=keep))
    wrong = [
        each for each in range(seed, seed + histories) if _run(each, seconds, native, faults=True, keep=keep)
    ]
    click.echo(f"{histories} histories, violations with the seeds {wrong}")
    sys.exit(bool(wrong))


def _run(seed: int, seconds: int, native: str | None, *, faults: bool = False, keep: bool) -> bool:
    """One run on a plane of its own. `native`: see the option. Returns whether something was wrong."""
    options = REPLICATED if faults else OPTIONS
    more: Mapping[Action, int] = {}
    if native is not None:
        options, more = with_natives(options, native), ACTIONS_OF_NATIVES
    plane = ControlPlane(Path(tempfile.mkdtemp(prefix="reprieve-stress-")), replace(Options(), **options))
    try:
        with plane:
            if faults:
                actions = {**ACTIONS_OF_OWNERS_WITH_FAULTS, **more}
                result = stress(plane, seed, seconds, actions=actions, rest_seconds=SHORT_REST)
            else:
                result = stress(plane, seed, seconds, actions={**ACTIONS_OF_OWNERS, **more})
    except (BinariesError, ProcessFailedError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(result)
    is_wrong = bool(result.violations or result.unexplained)
    if is_wrong or keep:
        click.echo(f"the logs, the audit log and the history are in {plane.layout.logs}", err=True)
    else:
        plane.discard()
    return is_wrong


if __name__ == "__main__":
    main(prog_name="python -m tests.e2e.stress")
