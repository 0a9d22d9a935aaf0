"""What the commands that leave a cluster have in common: they connect, sweep, report, and end with a status."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

import click
import structlog

from answers.errors import InputError
from api.progress import Count, Progress
from cli.common.cluster import FAILED, Connection, checked
from cli.common.output import BAD_INPUT, show_as
from cli.common.printable import complain, safe_event, say, unguarded
from cli.common.progress import showing
from cli.leaving.sweep import Result
from kube.client import ApiClient
from kube.errors import ApiError

__all__ = ["Tell", "run"]

Tell = Callable[[str], None]
"""Takes a line about each object."""


def run(
    context: click.Context,
    connection: Connection,
    work: Callable[[ApiClient, Tell], Awaitable[Result]],
    summary: Callable[[Result], str],
    output: str | None,
    *,
    dry_run: bool = False,
) -> None:
    """Do the work on the cluster, print the result, and end with status 0, 1 or 2.

    `output`: text (None), json or yaml. As text, each object is named as soon as it is free. `dry_run`: what is still
    held is the answer, and no error.
    """
    try:
        files = checked(connection)
    except InputError as error:
        complain(f"Error: {error}")
        context.exit(BAD_INPUT)
    *processors, renderer = structlog.get_config()["processors"]
    structlog.configure(
        processors=[*processors, safe_event, renderer],
        logger_factory=structlog.PrintLoggerFactory(unguarded(sys.stderr)),
    )
    try:
        with showing() as progress:
            progress("looking for objects")
            tell: Tell = say if output in (None, "text") else _Counted(progress)
            result = asyncio.run(_on_cluster(files, connection, work, tell))
    except ApiError as error:
        complain(f"Error: {error}")
        context.exit(FAILED)
    for problem in (*result.errors, *(() if dry_run else result.left)):
        complain(f"Error: {problem}")
    if output in (None, "text"):
        for held in result.left if dry_run else ():
            say(held)
        say(summary(result))
    else:
        data = {"freed": result.freed, "errors": result.errors, "left": result.left}
        show_as(data, str(output))
    context.exit(FAILED if result.left else 0)


class _Counted:
    """Counts the lines. They are not printed before the end."""

    def __init__(self, progress: Progress) -> None:
        self._count = Count("freeing objects", progress)

    def __call__(self, _: str) -> None:
        self._count.step()


async def _on_cluster(
    files: str, connection: Connection, work: Callable[[ApiClient, Tell], Awaitable[Result]], tell: Tell
) -> Result:
    async with ApiClient.connect(
        files, context=connection.context, user=connection.user, groups=connection.groups
    ) as client:
        return await work(client, tell)
