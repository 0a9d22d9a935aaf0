"""Random load on a control plane of its own.

python -m tests.e2e.stress [--seconds N] [--seed N] [--histories N] [--native Steer|Drive|Off] [--observe] [--canary]
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from hack.controlplane.binaries import BinariesError
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import ProcessFailedError
from tests.e2e.stress.actions import Action
from tests.e2e.stress.canary import CANARY, canary
from tests.e2e.stress.native_groups import ACTIONS_OF_NATIVES
from tests.e2e.stress.observing import OBSERVER, OFTEN, RARE, actions_of, observe
from tests.e2e.stress.owners import ACTIONS_OF_OWNERS, ACTIONS_OF_OWNERS_WITH_FAULTS
from tests.e2e.stress.run import OPTIONS, REPLICATED, SHORT_REST, stress, with_natives

UNKNOWN: Final = 0.05
"""Of the victims of all runs beside an observer, fewer are unknown, with one fault a minute."""


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
@click.option(
    "--observe",
    "is_observed",
    is_flag=True,
    help="Two processes that observe. The account is judged, with --histories.",
)
@click.option(
    "--canary",
    "is_canary",
    is_flag=True,
    help="Two processes that enforce one namespace and observe all others, with faults.",
)
@click.option(
    "--faults-often",
    is_flag=True,
    help="With --observe: six faults a minute, not one. How much is unknown is not judged then.",
)
def main(
    seconds: int,
    seed: int | None,
    histories: int,
    native: str | None,
    *,
    keep: bool,
    is_observed: bool,
    is_canary: bool,
    faults_often: bool,
) -> None:
    """Load a control plane at random, and judge what reprieve did by watch and audit log."""
    seed = random.randrange(1 << 32) if seed is None else seed
    if is_observed:
        seeds = range(seed, seed + max(1, histories))
        sys.exit(_observe(seeds, seconds, native, keep=keep, often=faults_often))
    if is_canary:
        sys.exit(_canary(seed, seconds, keep=keep))
    if not histories:
        sys.exit(_run(seed, seconds, native, keep=keep))
    wrong = [
        each for each in range(seed, seed + histories) if _run(each, seconds, native, faults=True, keep=keep)
    ]
    click.echo(f"{histories} histories, violations with the seeds {wrong}")
    sys.exit(bool(wrong))


def _observe(
    seeds: Sequence[int], seconds: int, native: str | None, *, keep: bool, often: bool = False
) -> bool:
    """Runs beside an observer, each on a plane of its own. Returns whether something was wrong."""
    options, more = (OBSERVER, {}) if native is None else (with_natives(OBSERVER, native), ACTIONS_OF_NATIVES)
    actions, a_minute = actions_of(more), OFTEN if often else RARE
    found, wrong = [], []
    for seed in seeds:
        plane = _plane(options)
        with _errors(), plane:
            result = observe(plane, seed, seconds, actions, a_minute)
        click.echo(result)
        found.append(result.account)
        wrong += [seed] if result.violations else []
        _end(plane, keep=keep or bool(result.violations))
    victims, unknown = sum(each.victims for each in found), sum(each.unknown for each in found)
    share = unknown / victims if victims else 0.0
    click.echo(
        f"{len(found)} histories, violations with the seeds {wrong}; {victims} victims, {unknown} unknown ({share:.1%})"
    )
    return bool(wrong) or (share >= UNKNOWN and not often)


def _canary(seed: int, seconds: int, *, keep: bool) -> bool:
    """One run on a plane of its own. Returns whether something was wrong."""
    plane = _plane(CANARY)
    with _errors(), plane:
        result = canary(plane, seed, seconds, ACTIONS_OF_OWNERS_WITH_FAULTS)
    click.echo(result)
    is_wrong = bool(result.violations or result.unexplained)
    _end(plane, keep=is_wrong or keep)
    return is_wrong


def _run(seed: int, seconds: int, native: str | None, *, faults: bool = False, keep: bool) -> bool:
    """One run on a plane of its own. `native`: see the option. Returns whether something was wrong."""
    options = REPLICATED if faults else OPTIONS
    more: Mapping[Action, int] = {}
    if native is not None:
        options, more = with_natives(options, native), ACTIONS_OF_NATIVES
    plane = _plane(options)
    with _errors(), plane:
        if faults:
            actions = {**ACTIONS_OF_OWNERS_WITH_FAULTS, **more}
            result = stress(plane, seed, seconds, actions=actions, rest_seconds=SHORT_REST)
        else:
            result = stress(plane, seed, seconds, actions={**ACTIONS_OF_OWNERS, **more})
    click.echo(result)
    is_wrong = bool(result.violations or result.unexplained)
    _end(plane, keep=is_wrong or keep)
    return is_wrong


def _plane(options: Mapping[str, Any]) -> ControlPlane:
    return ControlPlane(Path(tempfile.mkdtemp(prefix="reprieve-stress-")), replace(Options(), **options))


def _end(plane: ControlPlane, *, keep: bool) -> None:
    if keep:
        click.echo(f"the logs, the audit log and the history are in {plane.layout.logs}", err=True)
    else:
        plane.discard()


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (BinariesError, ProcessFailedError) as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main(prog_name="python -m tests.e2e.stress")
