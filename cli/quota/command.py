"""`reprieve quota`: says whether a workload gets its quota, and which victims it has.

It reads files or a live cluster.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import click

from answers.reading.queues import QueueObjects
from answers.reading.quota_objects import read_time
from api.clock import SYSTEM_CLOCK
from api.progress import Progress
from api.times import rfc3339_micro
from cli.common.completion import WORKLOADS, an_object
from cli.common.ending import ending
from cli.common.lines import answer_file
from cli.common.notes import note
from cli.common.options import NAMESPACE, OUTPUT, for_option, jsonl_option
from cli.common.output import BAD_INPUT, show, show_as
from cli.common.sources import Sources, reading
from cli.quota.asking import ask
from cli.quota.render import render
from cli.quota.stream import answer_scenario
from quota.search.decision import Options
from runtime.gates import TIME_BASED_PREEMPTION

__all__ = ["quota"]

NO_QUOTA: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve quota --for team-a/training
  reprieve quota --for team-a/training --overlay other-quota.yaml --context production


  kubectl get resourceflavors,cohorts,admissionchecks,clusterqueues,localqueues,workloads.kueue.x-k8s.io,ns \\
    -A -o json > quota.json
  reprieve quota -f quota.json --for team-a/training
  reprieve quota -f quota.json -f change.yaml --for team-a/training --fair-sharing -o yaml

\b
Exit status:
  0  Fit, or Preempt with victims; with --jsonl: every line got an answer
  3  NoFit, Preempt and no workload may be preempted, or Unknown: something is not modelled
  2  bad input, named on standard error
  1  the cluster cannot be read; standard error names a right that is missing
"""


@click.command(epilog=EPILOG)
@reading
@for_option("The Workload that wants quota.", an_object(WORKLOADS))
@NAMESPACE
@click.option("--now", metavar="RFC3339", help="The time to decide at; this computer's clock is the default.")
@click.option("--fair-sharing", is_flag=True, help="With fair sharing on, both strategies.")
@click.option(
    "--feature-gates",
    "gates",
    metavar="NAME=BOOL,...",
    default="",
    help=f"{TIME_BASED_PREEMPTION}=true is the default.",
)
@OUTPUT
@jsonl_option(
    'One {"id", "now", "fairSharing", "objects": [...], "incoming": "NAMESPACE/NAME"} a line; '
    '{"id", "mode", "flavors", "borrowing", "targets"} a line comes out.'
)
@click.pass_context
def quota(
    context: click.Context,
    sources: Sources,
    preemptor: str | None,
    namespace: str | None,
    now: str | None,
    fair_sharing: bool,
    gates: str,
    output: str | None,
    stream: str | None,
) -> None:
    """Say whether a Workload gets its quota, in which flavors, and who would be preempted for it.

    The answer is Kueue's own, with time-based preemption added. The command reads a live cluster, or files with -f. It
    changes nothing.
    """
    time_based = _time_based(gates)
    if stream is not None:
        if sources or preemptor or namespace or now or fair_sharing or output:
            raise click.UsageError(
                "--jsonl takes no option but --feature-gates: the lines say what to decide"
            )
        answered = answer_file(stream, partial(answer_scenario, time_based=time_based))
        context.exit(0 if answered else BAD_INPUT)
    if not preemptor:
        raise click.UsageError("--for [NAMESPACE/]NAME is needed (or --jsonl FILE)")
    with ending(context) as progress:
        options = Options(fair_sharing=fair_sharing, time_based=time_based)
        context.exit(
            _quota(
                sources, sources.key(preemptor, namespace, "--for"), now, options, output or "text", progress
            )
        )


def _quota(
    sources: Sources,
    preemptor: tuple[str, str],
    now: str | None,
    options: Options,
    output: str,
    progress: Progress,
) -> int:
    clock = now if now is not None else rfc3339_micro(SYSTEM_CLOCK.wall())
    moment = read_time(clock, "--now")
    objects = QueueObjects()
    sources.read(objects, progress)
    if output == "text":
        note([*objects.ignored_notes(), *objects.stray_notes(), *objects.check_notes()])
    progress("searching for quota")
    answer = ask(
        objects,
        "/".join(preemptor),
        moment,
        options,
        created=clock,
        explain=True,
        namespaces=objects.namespaces,
    )
    if output == "text":
        show(render(answer))
    else:
        show_as(answer.plain(), output)
    return 0 if answer.gets_quota else NO_QUOTA


def _time_based(gates: str) -> bool:
    """The value of the only gate that there is."""
    enabled = True
    for gate in filter(None, (gate.strip() for gate in gates.split(","))):
        name, _, value = gate.partition("=")
        if name != TIME_BASED_PREEMPTION:
            raise click.UsageError(
                f"--feature-gates: there is no gate {name!r}, only {TIME_BASED_PREEMPTION}"
            )
        if value.lower() not in ("true", "false"):
            raise click.UsageError(f"--feature-gates: {name} must be true or false, not {value!r}")
        enabled = value.lower() == "true"
    return enabled
