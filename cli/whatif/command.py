"""`reprieve what-if`: what would happen if objects were submitted, from a live cluster or from files."""

from __future__ import annotations

from typing import Final

import click

from answers.reading.quota_objects import read_time
from answers.reading.submissions import ClusterObjects, SubmissionReader
from answers.what_if.answer import what_if as ask
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
from cli.whatif.render import render

__all__ = ["what_if"]

NOT_ALL: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve what-if job.yaml
  reprieve what-if group.yaml job.yaml --context production -o json
  reprieve what-if job.yaml -f cluster.json --overlay more-nodes.yaml

\b
Exit status:
  0  all pods get nodes, perhaps with others gone
  3  something waits, or is not known
  2  bad input, named on standard error
  1  the cluster cannot be read; standard error names a right that is missing
"""


@click.command("what-if", epilog=EPILOG)
@click.argument("submitted", nargs=-1, required=True, metavar="FILE...", shell_complete=a_file)
@click.option("--now", metavar="RFC3339", help="The time to decide at; this computer's clock is the default.")
@BY_OWNER
@NAMESPACE
@reading_beside
@OUTPUT
@click.pass_context
def what_if(
    context: click.Context,
    submitted: tuple[str, ...],
    now: str | None,
    by_owner: ByOwner | None,
    namespace: str | None,
    sources: Sources,
    output: str | None,
) -> None:
    """Say what would happen if the objects in FILE were submitted: who runs, who is evicted, and who waits.

    Pods, Jobs, CronJobs, JobSets, TrainJobs, training jobs, LeaderWorkerSets, RayClusters, RayJobs, RayServices,
    Deployments, ReplicaSets, StatefulSets, PodGroups of each kind and Workloads are looked at, one after the other.
    Other objects that make pods are named as not known. It changes nothing.
    """
    with ending(context) as progress:
        moment = read_time(now or rfc3339_micro(SYSTEM_CLOCK.wall()), "--now")
        submission = SubmissionReader(sources.namespace(namespace))
        cluster = ClusterObjects(moment, by_owner)
        context.exit(_answer(submission, submitted, cluster, sources, output or "text", progress))


def _answer(
    reader: SubmissionReader,
    paths: tuple[str, ...],
    cluster: ClusterObjects,
    sources: Sources,
    output: str,
    progress: Progress,
) -> int:
    for path in files_of(paths):
        reader.add_file(read_file(path), path)
    sources.read(cluster, progress)
    submission = reader.expand(cluster.runtimes, cluster.unread_runtimes)
    note([*cluster.refused_notes(), *reader.ignored_notes()])
    answer = ask(cluster.picture(), submission, progress)
    if output == "text":
        show(render(answer.steps))
    else:
        show_as(answer.plain(), output)
    return 0 if answer.all_run else NOT_ALL
