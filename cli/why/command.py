"""`reprieve why`: why a pod waits, from a live cluster or from files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

import click
from rich.console import Group

from cli.common.documents import InputError, split_key
from cli.common.ending import ending
from cli.common.options import OUTPUT
from cli.common.output import formatted, line, show
from cli.common.sources import Sources, reading
from cli.why.pods import Pods
from nodes.groups.pod_waits import PodWait, why_pod_waits

__all__ = ["why"]

WAITS: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve why pod team-a/web-0
  reprieve why pod web-0 -n team-a -o json
  kubectl get pods -A -o json > pods.json
  reprieve why pod team-a/web-0 -f pods.json

\b
Exit status:
  0  it does not wait
  3  it waits
  2  bad input, or there is no such pod; named on standard error
  1  the cluster cannot be read; standard error names a right that is missing
"""


@click.command(epilog=EPILOG)
@click.argument("kind", type=click.Choice(["pod"]))
@click.argument("name", metavar="[NAMESPACE/]NAME")
@click.option("-n", "--namespace", default="default", show_default=True, help="If NAME has none.")
@reading
@OUTPUT
@click.pass_context
def why(
    context: click.Context, kind: str, name: str, namespace: str, sources: Sources, output: str | None
) -> None:
    """Say why a pod waits, and who schedules it. It changes nothing."""
    key = name if "/" in name else f"{namespace}/{name}"
    with ending(context):
        context.exit(_answer(kind, key, sources, output or "text"))


def _answer(kind: str, key: str, sources: Sources, output: str) -> int:
    namespace, name = split_key(key, "NAME")
    read = Pods()
    sources.read(read)
    pod = read.pods.get((namespace, name))
    if pod is None:
        raise InputError(f"there is no Pod {key}")
    found = why_pod_waits(pod)
    if output == "text":
        show(_render(key, found))
    else:
        click.echo(
            formatted({"kind": kind, "name": key, "waits": found.waits, **asdict(found)}, output), nl=False
        )
    return WAITS if found.waits else 0


def _render(key: str, found: PodWait) -> Group:
    rows = [("state", found.state), ("scheduler", found.scheduler), ("since", found.since or "not known")]
    head = [line(f"Pod {key}", "bold"), line(found.sentence)]
    return Group(*head, *(line(f"{name:<11}{text}") for name, text in rows))
