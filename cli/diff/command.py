"""`reprieve diff`: whose fate changes if queues, classes, groups, budgets or nodes change."""

from __future__ import annotations

from typing import Final

import click

from answers.diff import diff as ask
from answers.errors import InputError
from answers.reading.changes import Changed, NowAndThen
from answers.reading.quota_objects import read_time
from api.clock import SYSTEM_CLOCK
from api.owner_annotations import ByOwner
from api.progress import Progress
from api.times import rfc3339_micro
from cli.common.completion import a_file
from cli.common.ending import ending
from cli.common.files import files_of, read_file
from cli.common.notes import note
from cli.common.options import BY_OWNER, NAMESPACE, OUTPUT
from cli.common.output import show, show_as
from cli.common.sources import Sources, reading_beside
from cli.diff.render import render
from quota.search.decision import Options

__all__ = ["diff"]

DIFFERS: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve diff policy.yaml
  reprieve diff queues.yaml nodes.yaml --context production -o json
  reprieve diff policy.yaml -f cluster.json

\b
Exit status:
  0  nobody's fate changes
  3  somebody's fate changes, or it is not known because something is not modelled
  2  bad input, named on standard error
  1  the cluster cannot be read; standard error names a right that is missing
"""


@click.command("diff", epilog=EPILOG)
@click.argument("changed", nargs=-1, required=True, metavar="FILE...", shell_complete=a_file)
@click.option("--now", metavar="RFC3339", help="The time to decide at; this computer's clock is the default.")
@click.option("--fair-sharing", is_flag=True, help="With fair sharing on, both strategies.")
@BY_OWNER
@NAMESPACE
@reading_beside
@OUTPUT
@click.pass_context
def diff(
    context: click.Context,
    changed: tuple[str, ...],
    now: str | None,
    fair_sharing: bool,
    by_owner: ByOwner | None,
    namespace: str | None,
    sources: Sources,
    output: str | None,
) -> None:
    """Say what becomes of all that waits and runs if the objects in FILE took the place of those in the cluster.

    ClusterQueues, Cohorts, LocalQueues, ResourceFlavors, priority classes, PodGroups, PodDisruptionBudgets, nodes and
    whatever else decides. Pods and Jobs are for what-if. It changes nothing.
    """
    with ending(context) as progress:
        moment = read_time(now or rfc3339_micro(SYSTEM_CLOCK.wall()), "--now")
        options = Options(fair_sharing=fair_sharing)
        files = _changed(changed, sources.namespace(namespace))
        objects = NowAndThen(moment, files, by_owner)
        context.exit(_answer(objects, options, sources, output or "text", progress))


def _changed(paths: tuple[str, ...], namespace: str) -> Changed:
    changed = Changed(namespace)
    for path in files_of(paths):
        changed.add_file(read_file(path), path)
    note(changed.ignored_notes())
    if not changed.things:
        raise InputError("the files have no object that decides about quota or nodes")
    return changed


def _answer(objects: NowAndThen, options: Options, sources: Sources, output: str, progress: Progress) -> int:
    sources.read(objects, progress)
    now, then = objects.pictures()
    note(objects.refused_notes())
    answer = ask(now, then, objects.changes(), options, progress)
    if output == "text":
        show(render(answer))
    else:
        show_as(answer.plain(), output)
    return DIFFERS if answer.changes or answer.unknown else 0
