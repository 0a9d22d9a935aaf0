"""`reprieve why`: why a pod, a PodGroup, a Job or a Workload waits, from a live cluster or from files."""

from __future__ import annotations

from typing import Final, get_args

import click

from answers.reading.details import NamespaceObjects
from answers.reading.quota_objects import read_time
from answers.why import WhyKind
from answers.why import why as ask
from api.clock import SYSTEM_CLOCK
from api.owner_annotations import ByOwner
from api.progress import Progress
from api.times import rfc3339_micro
from cli.common.completion import by_kind
from cli.common.ending import ending
from cli.common.notes import note
from cli.common.options import BY_OWNER, NAMESPACE, OUTPUT
from cli.common.output import show, show_as
from cli.common.sources import Sources, reading
from cli.why.render import render

__all__ = ["why"]

WAITS: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve why pod team-a/web-0
  reprieve why podgroup training -n team-a -o json
  reprieve why job training -n team-a
  reprieve why workload job-training-2f3a1 -n team-a
  kubectl get namespaces,nodes,pods,poddisruptionbudgets,priorityclasses,jobs,replicasets,\\
  statefulsets,events,podgroups.reprieve.dev,preemptionplans.reprieve.dev,workloads,localqueues,\\
  clusterqueues,cohorts,resourceflavors,admissionchecks,multikueueclusters,\\
  dispatchplans.reprieve.dev -A -o json > cluster.json
  kubectl get lease reprieve -n reprieve-system --ignore-not-found -o json > lease.json
  reprieve why pod team-a/web-0 -f cluster.json -f lease.json

\b
Exit status:
  0  it does not wait
  3  it waits
  2  bad input, or there is no such object; named on standard error
  1  the cluster cannot be read; standard error names a right that is missing
"""


@click.command(epilog=EPILOG)
@click.argument("kind", type=click.Choice(get_args(WhyKind)))
@click.argument("name", metavar="[NAMESPACE/]NAME", shell_complete=by_kind)
@NAMESPACE
@click.option("--now", metavar="RFC3339", help="The time to decide at; this computer's clock is the default.")
@BY_OWNER
@reading
@OUTPUT
@click.pass_context
def why(
    context: click.Context,
    kind: WhyKind,
    name: str,
    namespace: str | None,
    now: str | None,
    by_owner: ByOwner | None,
    sources: Sources,
    output: str | None,
) -> None:
    """Say why a pod, a PodGroup, a Job or a Workload waits, what would have to change, and when it is tried again.

    It changes nothing.
    """
    with ending(context) as progress:
        key = sources.key(name, namespace, "NAME")
        moment = read_time(now or rfc3339_micro(SYSTEM_CLOCK.wall()), "--now")
        objects = NamespaceObjects(key[0], moment, by_owner)
        context.exit(_answer(kind, key[1], objects, sources, output or "text", progress))


def _answer(
    kind: WhyKind, name: str, objects: NamespaceObjects, sources: Sources, output: str, progress: Progress
) -> int:
    sources.read(objects, progress)
    note(objects.refused_notes())
    progress("searching for reasons")
    answer = ask(*objects.about(), kind, name)
    if output == "text":
        show(render(answer))
    else:
        show_as(answer.plain(), output)
    return WAITS if answer.waits else 0
