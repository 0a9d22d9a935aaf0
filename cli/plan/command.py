"""`reprieve plan`: the victims, the survivors and the reasons, from files or from a live cluster."""

from __future__ import annotations

from typing import Final, get_args

import click

from answers.plan import failing_jobs
from answers.reading.node_objects import NodeObjects
from api.disruption import BUDGET_POLICIES, BudgetPolicy, ScoreTerm, check_terms
from api.owner_annotations import ByOwner
from api.progress import Progress
from cli.common.completion import a_preemptor
from cli.common.ending import ending
from cli.common.lines import answer_file
from cli.common.notes import note
from cli.common.options import BY_OWNER, NAMESPACE, OUTPUT, for_option, jsonl_option
from cli.common.output import BAD_INPUT, show, show_as
from cli.common.sources import Sources, reading
from cli.plan.asking import ask
from cli.plan.render import render
from cli.plan.stream import PlanLines
from nodes.state.costs import CostRules

__all__ = ["plan"]

NOT_PLACED: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve plan --for team-a/training
  reprieve plan --for team-a/training --overlay more-nodes.yaml --context production


  kubectl get namespaces,nodes,pods,poddisruptionbudgets,priorityclasses,podgroups.reprieve.dev,\\
  preemptionplans.reprieve.dev -A -o json > cluster.json
  kubectl get pvc,pv,storageclasses,csinodes,csidrivers,csistoragecapacities \\
    -A -o json > storage.json
  kubectl get lease reprieve -n reprieve-system --ignore-not-found -o json > lease.json
  reprieve plan -f cluster.json -f storage.json -f lease.json --for team-a/training
  reprieve plan -f cluster.json -f change.yaml --for team-a/web-0 --pod -o yaml

\b
Exit status:
  0  Fits or Preempts; with --jsonl: every line got a plan, and none is Blocked or Unknown
  3  Unschedulable, SearchBudgetExhausted, Blocked or Unknown; with --jsonl: a plan is
     Blocked or Unknown
  2  bad input, named on standard error; with --jsonl: in the answer to the line
  1  the cluster cannot be read; standard error names a right that is missing

\b
A plan is Blocked if it has victims, but the search does not model everything that the
members use. Then the cluster evicts nothing. As JSON or YAML the plan is the object that
the cluster stores, with the phase Blocked and the reason in its status. It is Unknown if
what is not modelled could make any other outcome wrong.
"""


@click.command(epilog=EPILOG)
@reading
@for_option("The PodGroup to plan for.", a_preemptor)
@NAMESPACE
@click.option("--pod", is_flag=True, help="NAME is a single pod.")
@click.option(
    "--score-term",
    "terms",
    multiple=True,
    type=click.Choice(get_args(ScoreTerm)),
    help="As planning.score.terms of the Configuration; repeat it for several. By default DisruptionCost alone.",
)
@click.option(
    "--disruption-budgets",
    "budgets",
    type=click.Choice(BUDGET_POLICIES),
    help="As planning.disruptionBudgets of the Configuration. By default Prefer.",
)
@BY_OWNER
@OUTPUT
@jsonl_option(
    'One {"id", "objects": [...], "for": "NAMESPACE/NAME"} a line, with "pod", "scoreTerms", '
    '"disruptionBudgets" and "groupsByOwner" as the options; a PreemptionPlan with "id" a line comes out.'
)
@click.pass_context
def plan(
    context: click.Context,
    sources: Sources,
    preemptor: str | None,
    namespace: str | None,
    pod: bool,
    terms: tuple[ScoreTerm, ...],
    budgets: BudgetPolicy | None,
    by_owner: ByOwner | None,
    output: str | None,
    stream: str | None,
) -> None:
    """Say who would be preempted for a PodGroup (or a pod), who would stay, and why.

    This is the engine that runs on a cluster. It reads a live cluster, or with -f what kubectl get -o json prints. It
    changes nothing.
    """
    if stream is not None:
        if sources or preemptor or namespace or pod or terms or budgets or by_owner or output:
            raise click.UsageError("--jsonl takes no other option: the lines say what to plan for")
        context.exit(_stream(stream))
    if not preemptor:
        raise click.UsageError("--for [NAMESPACE/]NAME is needed (or --jsonl FILE)")
    with ending(context) as progress:
        check_terms(terms, "--score-term")
        costs = CostRules(terms=terms or CostRules().terms, budgets=budgets or "Prefer")
        objects, key = NodeObjects(costs, by_owner), sources.key(preemptor, namespace, "--for")
        context.exit(_plan(sources, objects, key, pod, output or "text", progress))


def _stream(path: str) -> int:
    answers = PlanLines()
    if not answer_file(path, answers):
        return BAD_INPUT
    return NOT_PLACED if answers.any_doubted else 0


def _plan(
    sources: Sources,
    objects: NodeObjects,
    preemptor: tuple[str, str],
    pod: bool,
    output: str,
    progress: Progress,
) -> int:
    sources.read(objects, progress)
    note(objects.misread_notes())
    progress("searching for a plan")
    nodes = objects.picture()
    answer = ask(objects, nodes, preemptor, pod=pod)
    if output == "text":
        note(objects.ignored_notes())
        show(render(answer.spec, answer.snapshot, failing_jobs(nodes, objects.jobs, answer.spec)))
    else:
        show_as(answer.plain(), output)
    return 0 if answer.placed else NOT_PLACED
