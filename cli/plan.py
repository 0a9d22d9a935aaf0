"""`reprieve plan`: who would go, who would stay and why, from files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click
import msgspec
import yaml

from api.plans import Outcome
from cli.objects import STDIN, InputError, Objects, read_file
from cli.offline import decide, plain
from cli.render import render, show
from cli.stream import run

__all__ = ["plan"]

NOT_PLACED: Final = 3
BAD_INPUT: Final = 2
PLACED: Final[frozenset[Outcome]] = frozenset({"Fits", "Preempts"})

EPILOG: Final = """\b
Examples:
  kubectl get nodes,pods,poddisruptionbudgets,priorityclasses,podgroups.reprieve.dev -A -o json > cluster.json
  reprieve plan -f cluster.json --for team-a/training
  reprieve plan -f cluster.json -f change.yaml --for team-a/web-0 --pod -o yaml

\b
Exit status:
  0  Fits or Preempts; with --jsonl: every line got a plan
  3  Unschedulable or SearchBudgetExhausted
  2  bad input, named on standard error
"""


@click.command(epilog=EPILOG)
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE", help="Objects, JSON or YAML; - for stdin."
)
@click.argument("more", nargs=-1, metavar="[FILE]...")
@click.option("--for", "preemptor", metavar="NAMESPACE/NAME", help="The PodGroup to plan for.")
@click.option("--pod", is_flag=True, help="NAMESPACE/NAME is a single pod.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), help="text is the default.")
@click.option(
    "--jsonl",
    "stream",
    metavar="FILE",
    help='One {"id", "objects": [...], "for": "NAMESPACE/NAME"} a line; a PreemptionPlan with "id" a line comes out.',
)
@click.pass_context
def plan(
    context: click.Context,
    files: tuple[str, ...],
    more: tuple[str, ...],
    preemptor: str | None,
    pod: bool,
    output: str | None,
    stream: str | None,
) -> None:
    """Say who would be preempted for a PodGroup (or a pod), who would stay, and why.

    The same engine as on a cluster, on what kubectl get -o json prints; nothing is touched.
    """
    paths = files + more
    if stream is not None:
        if paths or preemptor or pod or output:
            raise click.UsageError("--jsonl takes no other option: the lines say what to plan for")
        context.exit(_stream(stream))
    if not paths or not preemptor:
        raise click.UsageError("-f FILE and --for NAMESPACE/NAME are needed (or --jsonl FILE)")
    try:
        context.exit(_plan(paths, preemptor, pod, output or "text"))
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(BAD_INPUT)


def _plan(paths: tuple[str, ...], preemptor: str, pod: bool, output: str) -> int:
    objects = Objects()
    for path in paths:
        objects.add_file(read_file(path), path)
    spec, snapshot = decide(objects, preemptor, pod=pod)
    if output == "text":
        _note_ignored(objects)
        show(render(spec, snapshot))
    else:
        click.echo(_formatted(plain(spec), output), nl=False)
    return 0 if spec.outcome in PLACED else NOT_PLACED


def _formatted(data: dict[str, Any], output: str) -> str:
    if output == "json":
        return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"
    return yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=100)


def _note_ignored(objects: Objects) -> None:
    if objects.ignored:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(objects.ignored.items()))
        click.echo(f"Ignored, as of no matter for preemption: {kinds}", err=True)


def _stream(path: str) -> int:
    out = sys.stdout.buffer
    if path == STDIN:
        return 0 if run(sys.stdin.buffer, out) else BAD_INPUT
    try:
        with Path(path).open("rb") as lines:
            return 0 if run(lines, out) else BAD_INPUT
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        click.echo(f"Error: {path}: {error.strerror}", err=True)
        return BAD_INPUT
