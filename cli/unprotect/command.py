"""`reprieve unprotect`: removes Kueue's finalizer, so that queues can be deleted when nobody manages them."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

import click
import structlog

from api.words import counted
from cli.common.cluster import KUBECONFIG, existing
from cli.common.documents import InputError
from cli.common.output import BAD_INPUT
from cli.unprotect.objects import Result, is_kueue_there, unprotect_all
from kube.client import ApiClient, ApiError

__all__ = ["unprotect"]

FAILED: Final = 1

WARNING: Final = "Warning: Kueue is installed. It adds the finalizer to the objects again, and needs it."
EPILOG: Final = """\b
Before it, so that no object gets the finalizer again, set quota.mode to Off or stop reprieve.

\b
Then:
  reprieve unprotect
  reprieve unprotect --kubeconfig admin.conf

\b
You need the rights to list and patch workloads, clusterqueues, resourceflavors and admissionchecks. The command can
be repeated.

\b
Exit status:
  0  no object has the finalizer any longer
  1  an object still has it, or the API server refuses or does not answer
  2  bad input, named on standard error
"""


@click.command(epilog=EPILOG)
@KUBECONFIG
@click.pass_context
def unprotect(context: click.Context, kubeconfig: str) -> None:
    """Remove the finalizer kueue.x-k8s.io/resource-in-use from all objects of a cluster.

    For a cluster in which neither reprieve nor Kueue manages quota any longer. Other finalizers stay, and no object is
    deleted. docs/queueing.md has all steps.
    """
    try:
        files = existing(kubeconfig)
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(BAD_INPUT)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        result = asyncio.run(_unprotect(files))
    except ApiError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(FAILED)
    _report(result)
    context.exit(FAILED if result.left else 0)


async def _unprotect(kubeconfig: str) -> Result:
    async with ApiClient.connect(kubeconfig) as client:
        if await is_kueue_there(client):
            click.echo(WARNING, err=True)
        return await unprotect_all(client, lambda name: click.echo(f"{name}: the finalizer is removed"))


def _report(result: Result) -> None:
    for error in result.errors:
        click.echo(f"Error: {error}", err=True)
    for name in result.left:
        click.echo(f"Error: {name}: the object has the finalizer", err=True)
    removed = counted(len(result.removed), "object")
    click.echo(f"The finalizer is removed from {removed}; {len(result.left)} still have it.")
