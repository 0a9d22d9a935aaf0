"""`reprieve clusters`: the worker clusters of a manager, from a live cluster or from files."""

from __future__ import annotations

from typing import Final

import click

from answers.reading.clusters import ClusterObjects
from cli.clusters.render import render, render_one
from cli.common.completion import a_cluster
from cli.common.ending import ending
from cli.common.notes import note
from cli.common.options import OUTPUT
from cli.common.output import show, show_as
from cli.common.sources import Sources, reading

__all__ = ["clusters"]

EPILOG: Final = """\b
Examples:
  reprieve clusters
  reprieve clusters west
  reprieve clusters -o json --context manager


  kubectl get multikueueclusters,multikueueconfigs,workloads.kueue.x-k8s.io,dispatchplans.reprieve.dev \\
    -A -o json > clusters.json
  reprieve clusters -f clusters.json

\b
Exit status:
  0  the clusters are shown
  2  bad input, or there is no such cluster; named on standard error
  1  the cluster cannot be read; standard error names a right that is missing
"""


@click.command(epilog=EPILOG)
@click.argument("name", required=False, metavar="[NAME]", shell_complete=a_cluster)
@reading
@OUTPUT
@click.pass_context
def clusters(context: click.Context, name: str | None, sources: Sources, output: str | None) -> None:
    """Say which worker clusters a manager has, whether they are reached, what they have, and whose turn it is.

    NAME is a MultiKueueCluster. Without it, all are listed. The command reads the manager, or files with -f (one -f
    for each file), and no worker cluster. It changes nothing.
    """
    with ending(context) as progress:
        objects = ClusterObjects()
        sources.read(objects, progress)
        if output in (None, "text"):
            note(objects.ignored_notes())
        answer = objects.answer(name)
        if output not in (None, "text"):
            show_as(answer.plain(), output)
        else:
            show(render(answer) if name is None else render_one(answer.clusters[0]))
