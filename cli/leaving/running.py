"""What the commands that leave a cluster have in common: they connect, sweep, report, and end with a status."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

import click
import structlog

from answers.errors import InputError
from cli.common.cluster import FAILED, Connection, checked
from cli.common.output import BAD_INPUT, formatted
from cli.leaving.sweep import Result
from kube.client import ApiClient, ApiError

__all__ = ["Tell", "run"]

Tell = Callable[[str], None]
"""Takes a line about each object."""


def run(
    context: click.Context,
    connection: Connection,
    work: Callable[[ApiClient, Tell], Awaitable[Result]],
    summary: Callable[[Result], str],
    output: str | None,
) -> None:
    """Do the work on the cluster, print the result, and end with status 0, 1 or 2.

    `output`: text (None), json or yaml. As text, each object is named as soon as it is free.
    """
    tell: Tell = click.echo if output in (None, "text") else _quiet
    try:
        files = checked(connection)
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(BAD_INPUT)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        result = asyncio.run(_on_cluster(files, connection, work, tell))
    except ApiError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(FAILED)
    for problem in (*result.errors, *result.left):
        click.echo(f"Error: {problem}", err=True)
    if output in (None, "text"):
        click.echo(summary(result))
    else:
        data = {"freed": result.freed, "errors": result.errors, "left": result.left}
        click.echo(formatted(data, str(output)), nl=False)
    context.exit(FAILED if result.left else 0)


def _quiet(_: str) -> None:
    """Nothing is said before the end."""


async def _on_cluster(
    files: str, connection: Connection, work: Callable[[ApiClient, Tell], Awaitable[Result]], tell: Tell
) -> Result:
    async with ApiClient.connect(
        files, context=connection.context, user=connection.user, groups=connection.groups
    ) as client:
        return await work(client, tell)
