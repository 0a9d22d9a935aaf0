"""`reprieve who-evicted`: the preemptor of a pod, a PodGroup or a Workload that was evicted, from the stored plans."""

from __future__ import annotations

from typing import Final

import click

from answers.evictions import evictions
from answers.reading.plans import Evicted
from api.progress import Progress
from cli.common.completion import POD_GROUPS, PODS, WORKLOADS, an_object
from cli.common.ending import ending
from cli.common.options import NAMESPACE, OUTPUT
from cli.common.output import show, show_as
from cli.common.sources import Sources, reading
from cli.evicted.render import render

__all__ = ["who_evicted"]

NOBODY: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve who-evicted team-b/sweep-3
  reprieve who-evicted sweep -n team-b -o json
  kubectl get preemptionplans,clusterpreemptionplans,events -A -o json > plans.json
  reprieve who-evicted team-b/sweep-3 -f plans.json

\b
Exit status:
  0  a plan names it as a victim, or kube-scheduler says that it has evicted it
  3  neither is so
  2  bad input, named on standard error
  1  the cluster cannot be read; standard error names a right that is missing

\b
It may be gone already. Plans are kept for planRetentionSeconds of the Configuration, a day by default. A plan does not
show names of other namespaces to those who may only read its own one. So the command lists clusterpreemptionplans, too.
What kube-scheduler evicts without a plan is known from its event on the pod, and from a pod that still terminates. API
servers keep events for an hour.
"""


@click.command("who-evicted", epilog=EPILOG)
@click.argument("name", metavar="[NAMESPACE/]NAME", shell_complete=an_object(PODS, POD_GROUPS, WORKLOADS))
@NAMESPACE
@reading
@OUTPUT
@click.pass_context
def who_evicted(
    context: click.Context, name: str, namespace: str | None, sources: Sources, output: str | None
) -> None:
    """Say by which plan a pod, a PodGroup or a Workload was evicted, for whom, by which rule, and with what result.

    It may be gone. The command reads the stored PreemptionPlans of a live cluster, or of files with -f, and what
    kube-scheduler says of the pod. It changes nothing.
    """
    with ending(context) as progress:
        context.exit(_answer(sources.key(name, namespace, "NAME"), sources, output or "text", progress))


def _answer(key: tuple[str, str], sources: Sources, output: str, progress: Progress) -> int:
    objects = Evicted(*key)
    sources.read(objects, progress)
    answer = evictions(objects.plans(), *key, objects.marks())
    if output == "text":
        show(render(answer))
    else:
        show_as(answer.plain(), output)
    return 0 if answer.found or answer.by_scheduler else NOBODY
