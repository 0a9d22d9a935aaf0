"""`reprieve queue`: how quota is used, who waits for it, and who could take how much of it back from whom."""

from __future__ import annotations

from typing import Final

import click

from answers.errors import InputError
from answers.queue import AllQueues, OneQueue, all_queues, one_queue
from answers.reading.queues import QueueObjects
from answers.reading.quota_objects import read_time
from api.clock import SYSTEM_CLOCK
from api.times import rfc3339_micro
from cli.common.completion import a_namespace, a_queue
from cli.common.ending import ending
from cli.common.notes import note
from cli.common.options import OUTPUT
from cli.common.output import show, show_as
from cli.common.sources import Sources, reading
from cli.queue.render import render, render_queue
from quota.answers.reclaims import HIGHEST
from quota.search.decision import Options
from quota.state.amounts import QuotaError

__all__ = ["queue"]

EPILOG: Final = """\b
Examples:
  reprieve queue
  reprieve queue team-a-standard
  reprieve queue team-a/standard --fair-sharing -o yaml


  kubectl get namespaces,resourceflavors,cohorts,admissionchecks,clusterqueues,localqueues,workloads.kueue.x-k8s.io \\
    -A -o json > quota.json
  reprieve queue -f quota.json

\b
Exit status:
  0  the queues are shown
  2  bad input, or there is no such queue; named on standard error
  1  the cluster cannot be read; standard error names a right that is missing
"""


@click.command(epilog=EPILOG)
@click.argument("name", required=False, metavar="[NAME]", shell_complete=a_queue)
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="NAME is a LocalQueue of this namespace.",
    shell_complete=a_namespace,
)
@reading
@click.option("--now", metavar="RFC3339", help="The time to decide at; this computer's clock is the default.")
@click.option("--fair-sharing", is_flag=True, help="With fair sharing on, both strategies.")
@click.option(
    "--priority",
    type=click.IntRange(-(2**31), HIGHEST),
    default=HIGHEST,
    help="Of a Workload that takes quota back; the highest that there is by default.",
)
@OUTPUT
@click.pass_context
def queue(
    context: click.Context,
    name: str | None,
    namespace: str | None,
    sources: Sources,
    now: str | None,
    fair_sharing: bool,
    priority: int,
    output: str | None,
) -> None:
    """Say how quota is used, lent and borrowed, who waits for it, and who could take it back.

    NAME is a ClusterQueue, or NAMESPACE/NAME of a LocalQueue. Without it, all queues are shown, as the tree of their
    Cohorts. The command reads a live cluster, or files with -f (one -f for each file). It changes nothing.
    """
    if namespace is not None:
        if name is None or "/" in name:
            raise click.UsageError("-n: needs the NAME of a LocalQueue")
        name = f"{namespace}/{name}"
    with ending(context) as progress:
        options = Options(fair_sharing=fair_sharing)
        clock = now if now is not None else rfc3339_micro(SYSTEM_CLOCK.wall())
        moment = read_time(clock, "--now")
        objects = QueueObjects()
        sources.read(objects, progress)
        if output in (None, "text"):
            note([*objects.ignored_notes(), *objects.stray_notes(), *objects.check_notes()])
        progress("looking at queues")
        answer = _answer(objects, name, moment, options, priority)
        if output not in (None, "text"):
            show_as(answer.plain(), output)
        elif isinstance(answer, AllQueues):
            show(render(answer.overview, priority))
        else:
            show(render_queue(answer, priority))


def _answer(
    objects: QueueObjects, name: str | None, moment: int, options: Options, priority: int
) -> AllQueues | OneQueue:
    picture = objects.all_of(moment)
    try:
        if name is None:
            return all_queues(picture, options, priority)
        return one_queue(picture, name, options, priority)
    except QuotaError as error:
        place = objects.place(error.subject) or error.subject
        raise InputError(": ".join(part for part in (place, error.field, error.problem) if part)) from None
