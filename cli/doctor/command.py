"""`reprieve doctor`: whether reprieve works in a cluster, and what helps if it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from answers.doctor.before import with_at_once
from answers.doctor.checks import examine
from answers.doctor.findings import Findings
from answers.doctor.seen import Seen
from answers.errors import InputError
from answers.reading.before import BeforeEnforce
from answers.reading.seen import SeenObjects
from api.progress import Progress
from cli.common.completion import a_file, a_namespace
from cli.common.configuration import Configuration
from cli.common.ending import ending
from cli.common.options import NOW, OUTPUT
from cli.common.output import show, show_as
from cli.common.sources import Sources, reading
from cli.doctor.render import render
from cli.doctor.settings import mounted, of_file, wanted

__all__ = ["doctor"]

FAULTY: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve doctor
  reprieve doctor --for Enforce
  reprieve doctor --for Enforce -n team-a --config settings.yaml
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
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="With --for Enforce: look only at the gangs of this namespace. By default at all.",
    shell_complete=a_namespace,
)
@click.option(
    "--config",
    "path",
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE",
    help="With --for Enforce: the Configuration that is to come, as serve reads it. By default that of the cluster.",
    shell_complete=a_file,
)
@NOW
@OUTPUT
@click.pass_context
def doctor(
    context: click.Context,
    sources: Sources,
    target: str | None,
    namespace: str | None,
    path: Path | None,
    now: str | None,
    output: str | None,
) -> None:
    """Say whether reprieve works in a cluster: what is installed, who calls it, what waits, and what is wrong.

    The command reads a live cluster, or files with -f. It changes nothing.
    """
    if target != "Enforce" and (namespace or path):
        raise click.UsageError("--namespace and --config need --for Enforce")
    with ending(context) as progress:
        moment = sources.now(now)
        if target == "Enforce":
            found = _before_enforce(sources, moment, namespace or "", path, progress)
        else:
            objects = SeenObjects()
            sources.read(objects, progress)
            found = _examined(objects.seen(), moment, target or "")
        if output in ("json", "yaml"):
            show_as(found.plain(), output)
        else:
            show(render(found.found))
        context.exit(FAULTY if found.faulty else 0)


def _examined(seen: Seen, now: float, target: str) -> Findings:
    try:
        return examine(seen, now, target)
    except ValueError as error:
        raise InputError(str(error)) from None


def _before_enforce(
    sources: Sources, now: float, namespace: str, path: Path | None, progress: Progress
) -> Findings:
    """What is missing for Enforce, and what it would do at once."""
    given = of_file(path) if path is not None else None
    objects = BeforeEnforce() if given is None else _as_set(given)
    sources.read(objects, progress)
    seen = objects.seen()
    found, why = _examined(seen, now, "Enforce"), ""
    if given is None:
        given, why = mounted(seen)
    asked = wanted(given.planning, seen, namespace)
    return with_at_once(found, seen, objects.looked(), asked, now, why, progress)


def _as_set(given: Configuration) -> BeforeEnforce:
    planning = given.planning
    return BeforeEnforce(planning.costs(), given.groups.by_owner)
