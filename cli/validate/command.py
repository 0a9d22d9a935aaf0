"""`reprieve validate`: says from files what the API server and the webhook would answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Group, RenderableType
from rich.text import Text

from api.progress import Progress, going_through
from api.words import counted
from cli.common.completion import a_file
from cli.common.ending import ending
from cli.common.files import STDIN, files_of, in_folder, read_file
from cli.common.lines import answer_file
from cli.common.notes import note
from cli.common.options import FILES, MORE_FILES, OUTPUT, jsonl_option
from cli.common.output import BAD_INPUT, line, show, show_as
from cli.validate.objects import LocatedObject, Objects, writes
from cli.validate.stream import judge_line
from cli.validate.verdicts import Write, verdict
from schema import NO_PATH
from schema.verdict import Cause, Verdict

__all__ = ["validate"]

REFUSED: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve validate -f queues.yaml
  kubectl get clusterqueues,workloads.kueue.x-k8s.io,podgroups.reprieve.dev -A -o json > cluster.json
  reprieve validate -f change.yaml --old cluster.json --as jane@example.com
  git show main:queues.yaml | reprieve validate -f queues.yaml --old - -o json

\b
Rules need PriorityClasses, PodGroups and a Configuration. They are read from all files, also from those of --old.
If a rule needs an object that no file has, there is a warning.

\b
Exit status:
  0  all allowed; with --jsonl: every line was judged
  3  something is refused
  2  bad input, named on standard error
"""

Judged = tuple[LocatedObject, Write, Verdict]


@click.command(epilog=EPILOG)
@FILES
@MORE_FILES
@click.option(
    "--old",
    metavar="FILE",
    multiple=True,
    help="Stored objects. A request for one of them is an update.",
    shell_complete=a_file,
)
@click.option("--as", "user", metavar="USER", default="", help="The user who sends the requests.")
@OUTPUT
@jsonl_option(
    'One {"id", "kind", "operation", "subresource", "object", "oldObject"} a line; '
    '{"id", "allowed", "causes": [{"field", "type"}], "warnings"} a line comes out.'
)
@click.pass_context
def validate(
    context: click.Context,
    files: tuple[str, ...],
    more: tuple[str, ...],
    old: tuple[str, ...],
    user: str,
    output: str | None,
    stream: str | None,
) -> None:
    """Say whether objects would be accepted, and what is wrong with which field.

    The verdict is the one that kubectl apply would get: defaults, then the schema, CEL rules and webhook rules.
    """
    paths = files + more
    if stream is not None and (old or output):
        raise click.UsageError("--jsonl takes neither --old nor -o: the lines have their old objects")
    if [*paths, *old, stream].count(STDIN) > 1:
        raise click.UsageError("standard input (-) can be read only once")
    if stream is None and not paths:
        raise click.UsageError("-f FILE is needed (or --jsonl FILE)")
    with ending(context) as progress:
        if stream is not None:
            judge = partial(judge_line, context=_together(paths).context(user))
            context.exit(0 if answer_file(stream, judge) else BAD_INPUT)
        context.exit(_validate(paths, old, user, output or "text", progress))


def _read(paths: Sequence[str]) -> list[Objects]:
    """The objects of all files that are named, together, and those of each file of a folder.

    The files of a folder may have the same objects: each is judged by itself, with the facts of its own file first.
    """
    named, read = Objects(), []
    for path in paths:
        if path == STDIN or not Path(path).is_dir():
            for file in files_of([path]):
                named.add_file(read_file(file), file)
            continue
        for file in in_folder(path):
            read.append(Objects())
            read[-1].add_file(read_file(file), file)
    read.insert(0, named)
    for objects in read:
        for other in read:
            objects.complete(other)
    return read


def _together(paths: Sequence[str]) -> Objects:
    """The facts of all files."""
    return _read(paths)[0]


def _validate(paths: Sequence[str], old: Sequence[str], user: str, output: str, progress: Progress) -> int:
    stored = Objects()
    for path in files_of(old):
        stored.add_file(read_file(path), path)
    judged: list[Judged] = []
    ignored = Objects()
    for objects in _read(paths):
        objects.complete(stored)
        facts = objects.context(user)
        asked = going_through(list(writes(objects, stored)), "judging objects", progress)
        judged += [(found, write, verdict(write, facts)) for found, write in asked]
        ignored.ignored += objects.ignored
    if output == "text":
        note(ignored.ignored_notes())
        show(_rendered(judged))
    else:
        show_as({"objects": [_plain(*each) for each in judged]}, output)
    return 0 if all(judgement.allowed for _, _, judgement in judged) else REFUSED


def _rendered(judged: Sequence[Judged]) -> RenderableType:
    parts: list[RenderableType] = []
    for found, write, judgement in judged:
        said = "allowed" if judgement.allowed else "refused"
        how = write.operation.lower()
        parts.append(
            Text(f"{found.key}: {said} ({how}; {found.place})", "" if judgement.allowed else "bold red")
        )
        parts += [line(_sentence(cause)) for cause in judgement.causes]
        parts += [line(f"Warning: {warning}", "yellow") for warning in judgement.warnings]
    refused = sum(not judgement.allowed for _, _, judgement in judged)
    parts.append(Text(f"{counted(len(judged), 'object')}, {refused} refused"))
    return Group(*parts)


def _sentence(cause: Cause) -> str:
    return cause.message if cause.field == NO_PATH else str(cause)


def _plain(found: LocatedObject, write: Write, judgement: Verdict) -> dict[str, Any]:
    return {
        "kind": found.key.kind,
        "namespace": found.key.namespace,
        "name": found.key.name,
        "place": found.place,
        "operation": write.operation,
        "allowed": judgement.allowed,
        "causes": [
            {"field": cause.field, "type": cause.type, "message": cause.message} for cause in judgement.causes
        ],
        "warnings": list(judgement.warnings),
    }
