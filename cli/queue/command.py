"""`reprieve queue`: how quota is used, who waits for it, and who could take how much of it back from whom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import click
from rich.console import RenderableType

from answers.errors import InputError
from answers.reading.quota_objects import read_time
from api.clock import SYSTEM_CLOCK
from api.times import rfc3339_micro
from cli.common.completion import a_namespace, a_queue
from cli.common.ending import ending
from cli.common.notes import note
from cli.common.options import OUTPUT
from cli.common.output import formatted, show
from cli.common.sources import Sources, reading
from cli.queue.objects import QueueObjects
from cli.queue.plain import plain, plain_queue
from cli.queue.render import render, render_queue
from quota.answers.overview import overview, queue_overview
from quota.answers.reclaims import HIGHEST
from quota.search.decision import Options
from quota.state.amounts import QuotaError
from quota.state.statuses import Tally

__all__ = ["queue"]

EPILOG: Final = """\b
Examples:
  reprieve queue
  reprieve queue team-a-standard
  reprieve queue team-a/standard --fair-sharing -o yaml


  kubectl get namespaces,resourceflavors,cohorts,admissionchecks,clusterqueues,localqueues,workloads \\
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
    with ending(context):
        options = Options(fair_sharing=fair_sharing)
        clock = now if now is not None else rfc3339_micro(SYSTEM_CLOCK.wall())
        moment = read_time(clock, "--now")
        objects = QueueObjects()
        sources.read(objects)
        if output in (None, "text"):
            note([*objects.ignored_notes(), *objects.stray_notes(), *objects.check_notes()])
        answer, data = _answer(objects, name, moment, options, priority)
        if output in (None, "text"):
            show(answer)
        else:
            click.echo(formatted(data, output), nl=False)


def _answer(
    objects: QueueObjects, name: str | None, now: int, options: Options, priority: int
) -> tuple[RenderableType, dict[str, Any]]:
    state = objects.state
    workloads = state.workloads.values()
    try:
        snapshot = state.snapshot()
        if name is None:
            everything = overview(snapshot, workloads, now, options, priority)
            return render(everything, priority), plain(everything)
        queue, local = objects.named(name, snapshot)
        one = queue_overview(
            snapshot, queue, workloads, now, options, priority=priority, namespaces=objects.namespaces
        )
        counts = _tally(objects)
        return (
            render_queue(one, local, counts, snapshot, priority),
            plain_queue(one, local, counts, snapshot),
        )
    except QuotaError as error:
        place = objects.place(error.subject) or error.subject
        raise InputError(": ".join(part for part in (place, error.field, error.problem) if part)) from None


def _tally(objects: QueueObjects) -> Tally:
    counts = Tally()
    held: Iterable[Any] = objects.state.workloads.values()
    for workload in held:
        counts.put(workload)
    return counts
