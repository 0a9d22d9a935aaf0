"""`reprieve ungate`: removes the scheduling gate from pods, so that they can be scheduled without reprieve."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

import click
import structlog

from api.clock import SYSTEM_CLOCK
from api.words import counted
from cli.common.cluster import KUBECONFIG, existing
from cli.common.documents import InputError
from cli.common.output import BAD_INPUT
from cli.ungate.pods import Result, adds_gates, remove_gates
from controllers.gangs.writer import Writer
from kube.client import ApiClient, ApiError

__all__ = ["ungate"]

FAILED: Final = 1

WARNING: Final = (
    "Warning: the webhook still adds the gate to new pods. Remove it first: "
    "kubectl delete mutatingwebhookconfiguration reprieve"
)
EPILOG: Final = """\b
Before it, so that no pod gets the gate again:
  kubectl delete mutatingwebhookconfiguration reprieve

\b
Then:
  reprieve ungate
  reprieve ungate -n team-a --kubeconfig admin.conf

\b
You need the rights to list and patch pods. The command can be repeated.

\b
Exit status:
  0  no pod has the gate any longer
  1  a pod still has it, or the API server refuses or does not answer
  2  bad input, named on standard error
"""


@click.command(epilog=EPILOG)
@KUBECONFIG
@click.option("-n", "--namespace", metavar="NAME", help="Only pods of this namespace. By default of all.")
@click.pass_context
def ungate(context: click.Context, kubeconfig: str, namespace: str | None) -> None:
    """Remove the scheduling gate reprieve.dev/gang from all pods of a cluster.

    For a cluster that reprieve leaves. Other gates of the pods stay. docs/gates.md has all steps.
    """
    try:
        files = existing(kubeconfig)
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(BAD_INPUT)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        result = asyncio.run(_ungate(files, namespace))
    except ApiError as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(FAILED)
    _report(result)
    context.exit(FAILED if result.left else 0)


async def _ungate(kubeconfig: str, namespace: str | None) -> Result:
    async with ApiClient.connect(kubeconfig) as client:
        if await adds_gates(client):
            click.echo(WARNING, err=True)
        writer = Writer(client, SYSTEM_CLOCK)
        return await remove_gates(
            client, writer, namespace, lambda pod: click.echo(f"{pod}: the gate is removed")
        )


def _report(result: Result) -> None:
    for error in result.errors:
        click.echo(f"Error: {error}", err=True)
    for pod in result.left:
        click.echo(f"Error: {pod}: the pod has the gate", err=True)
    click.echo(
        f"The gate is removed from {counted(len(result.removed), 'pod')}; {len(result.left)} still have it."
    )
