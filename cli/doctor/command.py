"""`reprieve doctor`: whether reprieve works in a cluster, and what helps if it does not."""

from __future__ import annotations

from typing import Final

import click

from answers.doctor.checks import examine
from answers.errors import InputError
from answers.reading.seen import SeenObjects
from api.clock import SYSTEM_CLOCK
from api.progress import Progress
from cli.common.ending import ending
from cli.common.options import OUTPUT
from cli.common.output import show, show_as
from cli.common.sources import Sources, reading
from cli.doctor.render import render

__all__ = ["doctor"]

FAULTY: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve doctor
  reprieve doctor --for Enforce
  reprieve doctor -o json
  reprieve doctor -f cluster.json

\b
Exit status:
  0  all is well
  3  there are faults
  2  bad input, named on standard error
  1  the cluster cannot be read; standard error names a right that is missing

\b
docs/doctor.md explains each fault, and has the kubectl command that makes such a file.
"""


@click.command("doctor", epilog=EPILOG)
@reading
@click.option(
    "--for",
    "target",
    type=click.Choice(["Observe", "Enforce"]),
    help="Say what is missing for this planning.mode, whatever the mode is now.",
)
@OUTPUT
@click.pass_context
def doctor(context: click.Context, sources: Sources, target: str | None, output: str | None) -> None:
    """Say whether reprieve works in a cluster: what is installed, who calls it, what waits, and what is wrong.

    The command reads a live cluster, or files with -f. It changes nothing.
    """
    with ending(context) as progress:
        context.exit(_answer(sources, target or "", output or "text", progress))


def _answer(sources: Sources, target: str, output: str, progress: Progress) -> int:
    objects = SeenObjects()
    sources.read(objects, progress)
    try:
        answer = examine(objects.seen(), SYSTEM_CLOCK.wall(), target)
    except ValueError as error:
        raise InputError(str(error)) from None
    if output == "text":
        show(render(answer.found))
    else:
        show_as(answer.plain(), output)
    return FAULTY if answer.faulty else 0
