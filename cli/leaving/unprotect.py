"""`reprieve unprotect`: removes Kueue's finalizer, so that queues can be deleted when nobody manages them."""

from __future__ import annotations

from typing import Final

import click

from api.words import counted
from cli.common.cluster import Connection
from cli.common.options import OUTPUT
from cli.common.printable import complain
from cli.common.sources import connecting
from cli.leaving.running import Tell, run
from cli.leaving.sweep import Result, sweep_all
from cli.leaving.sweeps import QUEUE_FINALIZERS
from cli.leaving.webhooks import is_kueue_there
from kube.client import ApiClient

__all__ = ["unprotect"]

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
@connecting
@OUTPUT
@click.pass_context
def unprotect(context: click.Context, connection: Connection, output: str | None) -> None:
    """Remove the finalizer kueue.x-k8s.io/resource-in-use from all objects of a cluster.

    For a cluster in which neither reprieve nor Kueue manages quota any longer. Other finalizers stay, and no object is
    deleted. docs/queueing.md has all steps.
    """

    async def work(client: ApiClient, tell: Tell) -> Result:
        if await is_kueue_there(client):
            complain(WARNING)
        return await sweep_all(client, QUEUE_FINALIZERS, tell)

    run(context, connection, work, _summary, output)


def _summary(result: Result) -> str:
    removed = counted(len(result.freed), "object")
    return f"The finalizer is removed from {removed}; {len(result.left)} still have it."
