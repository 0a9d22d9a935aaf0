"""What the commands that leave a cluster have in common: they connect, sweep, report, and end with a status."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

import click
import structlog

from cli.common.cluster import FAILED, existing
from cli.common.documents import InputError
from cli.common.output import BAD_INPUT
from cli.leaving.sweep import Result
from kube.client import ApiClient, ApiError

__all__ = ["run"]


def run(
    context: click.Context,
    kubeconfig: str,
    work: Callable[[ApiClient], Awaitable[Result]],
    summary: Callable[[Result], str],
) -> None:
    """Do the work on the cluster, say what came of it, and end with status 0, 1 or 2."""
    try:
        files = existing(kubeconfig)
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(BAD_INPUT)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        result = asyncio.run(_on_cluster(files, work))
    except ApiError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(FAILED)
    for problem in (*result.errors, *result.left):
        click.echo(f"Error: {problem}", err=True)
    click.echo(summary(result))
    context.exit(FAILED if result.left else 0)


async def _on_cluster(kubeconfig: str, work: Callable[[ApiClient], Awaitable[Result]]) -> Result:
    async with ApiClient.connect(kubeconfig) as client:
        return await work(client)
