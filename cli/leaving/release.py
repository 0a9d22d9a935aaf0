"""`reprieve release`: frees all that reprieve holds in a cluster that stock Kubernetes or Kueue takes over."""

from __future__ import annotations

from typing import Any, Final

import click

from api.groups import SCHEDULING_GATE
from api.integration import ADMISSION_GATE
from api.words import counted
from cli.common.cluster import FAILED, Connection
from cli.common.options import OUTPUT
from cli.common.output import BAD_INPUT
from cli.common.printable import complain
from cli.common.sources import connecting
from cli.leaving.clusters import warnings
from cli.leaving.held import read_left, sweeps, who_enforces
from cli.leaving.running import Tell, run
from cli.leaving.sweep import Result, Sweep, held_by, sweep_all
from cli.leaving.sweeps import (
    ACTIVE_PLANS,
    DELETED_WORKLOADS,
    QUEUE_FINALIZERS,
    gates,
    is_of_group,
    suspended_jobs,
)
from cli.leaving.webhooks import is_kueue_there, mutates
from kube.client import ApiClient

__all__ = ["release"]

EPILOG: Final = """\b
Before it, so that nothing is held again, remove the webhooks and stop reprieve:
  kubectl delete --ignore-not-found mutatingwebhookconfiguration,validatingwebhookconfiguration reprieve reprieve-queues
  kubectl delete --ignore-not-found -k manifests/install

\b
Then:
  reprieve release
  reprieve release --to Kueue

\b
With --to Kubernetes (the default): Jobs that wait for quota are resumed, pods lose the gates, Workloads are deleted,
and queues lose Kueue's finalizer. Nothing that runs is stopped.
With --to Kueue: Jobs, Workloads and queues stay as they are, for Kueue to go on with. Pods of PodGroups lose the gates.
With both, plans lose the finalizer of reprieve. Copies of a manager in another cluster stay, and so do Jobs that are
for worker clusters: docs/leaving.md says what to do about them.

\b
With --held, only what planning.mode: Enforce has left is withdrawn: gates, marks, nominations and the conditions of
held pods. Plans that were being carried out end. Groups that were evicted in part are named, and finished only with
--finish-begun. A process of reprieve does it by itself, if it has the rights: docs/modes.md, The way back.
  reprieve release --held --dry-run
  reprieve release --held

\b
You need the rights to list and patch pods, jobs, preemptionplans, clusterqueues, resourceflavors and admissionchecks,
and to list, patch and delete workloads. The command can be repeated.

\b
Exit status:
  0  nothing is held any longer
  1  an object is still held, the API server refuses or does not answer, or a process leads that enforces
  2  bad input, named on standard error
"""


@click.command(epilog=EPILOG)
@connecting
@click.option(
    "--to",
    "successor",
    type=click.Choice(["Kubernetes", "Kueue"]),
    default="Kubernetes",
    show_default=True,
    help="The system that takes over the cluster.",
)
@click.option(
    "--held",
    is_flag=True,
    help="Only what planning.mode: Enforce has left on pods and plans. reprieve may go on.",
)
@click.option("--finish-begun", is_flag=True, help="With --held: delete the rest of groups in pieces.")
@click.option("--dry-run", is_flag=True, help="With --held: change nothing, and name what is held.")
@OUTPUT
@click.pass_context
def release(
    context: click.Context,
    connection: Connection,
    successor: str,
    held: bool,
    finish_begun: bool,
    dry_run: bool,
    output: str | None,
) -> None:
    """Free all that reprieve holds in a cluster: pods, Jobs, Workloads, queues and plans.

    For a cluster that reprieve leaves. docs/leaving.md has all steps, and says what stays.
    """
    if held:
        _release_held(context, connection, output, finishes=finish_begun, dry_run=dry_run)
        return
    if finish_begun or dry_run:
        complain(f"Error: {'--finish-begun' if finish_begun else '--dry-run'}: only with --held")
        context.exit(BAD_INPUT)

    async def work(client: ApiClient, tell: Tell) -> Result:
        await _warn(client, successor)
        return await sweep_all(client, await _sweeps(client, successor), tell)

    run(context, connection, work, _summary, output)


def _release_held(
    context: click.Context, connection: Connection, output: str | None, *, finishes: bool, dry_run: bool
) -> None:
    async def work(client: ApiClient, tell: Tell) -> Result:
        holder = await who_enforces(client)
        if holder and not dry_run:
            complain(
                f"Error: {holder} leads with planning.mode Enforce, and would hold all of it again: "
                "set the mode first (docs/modes.md, The way back)"
            )
            context.exit(FAILED)
        kinds = sweeps(await read_left(client), finishes=finishes)
        return await held_by(client, kinds) if dry_run else await sweep_all(client, kinds, tell)

    run(context, connection, work, _found if dry_run else _summary, output, dry_run=dry_run)


def _found(result: Result) -> str:
    return f"{counted(len(result.left), 'object')} held."


async def _sweeps(client: ApiClient, successor: str) -> list[Sweep[Any]]:
    if successor == "Kueue":
        return [gates(SCHEDULING_GATE), gates(ADMISSION_GATE, is_of_group), ACTIVE_PLANS]
    return [
        gates(SCHEDULING_GATE),
        gates(ADMISSION_GATE),
        await suspended_jobs(client),
        DELETED_WORKLOADS,
        *QUEUE_FINALIZERS,
        ACTIVE_PLANS,
    ]


async def _warn(client: ApiClient, successor: str) -> None:
    if await mutates(client, "Pod") or await mutates(client, "Job"):
        complain(
            "Warning: the webhooks still hold new pods and Jobs. Remove them first: "
            "kubectl delete mutatingwebhookconfiguration reprieve"
        )
    for line in await warnings(client, successor):
        complain(line)
    if successor != "Kueue" and await is_kueue_there(client):
        complain(
            "Warning: Kueue is installed. It suspends Jobs again, and needs the Workloads. See --to Kueue."
        )


def _summary(result: Result) -> str:
    return f"{counted(len(result.freed), 'object')} freed; {len(result.left)} still held."
