"""`reprieve ungate`: removes the scheduling gate from pods, so that they can be scheduled without reprieve."""

from __future__ import annotations

from typing import Final

import click

from api.groups import SCHEDULING_GATE
from api.words import counted
from cli.common.cluster import Connection
from cli.common.options import OUTPUT
from cli.common.printable import complain
from cli.common.sources import connecting
from cli.leaving.running import Tell, run
from cli.leaving.sweep import Result, sweep_all
from cli.leaving.sweeps import gates
from cli.leaving.webhooks import mutates
from kube.client import ApiClient

__all__ = ["ungate"]

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
@connecting
@click.option("-n", "--namespace", metavar="NAME", help="Only pods of this namespace. By default of all.")
@OUTPUT
@click.pass_context
def ungate(context: click.Context, connection: Connection, namespace: str | None, output: str | None) -> None:
    """Remove the scheduling gate reprieve.dev/gang from all pods of a cluster.

    For a cluster that reprieve leaves. Other gates of the pods stay. docs/gates.md has all steps.
    """

    async def work(client: ApiClient, tell: Tell) -> Result:
        if await mutates(client, "Pod"):
            complain(WARNING)
        return await sweep_all(client, [gates(SCHEDULING_GATE)], tell, namespace)

    run(context, connection, work, _summary, output)


def _summary(result: Result) -> str:
    removed = counted(len(result.freed), "pod")
    return f"The gate is removed from {removed}; {len(result.left)} still have it."
