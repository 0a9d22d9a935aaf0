"""`reprieve plan`: who would go, who would stay and why, from files."""

from __future__ import annotations

from typing import Final, get_args

import click

from api.disruption import BUDGET_POLICIES, BudgetPolicy, ScoreTerm, check_terms
from api.plans import Outcome
from api.validation import FieldError
from cli.common.documents import InputError, read_file
from cli.common.lines import answer_file
from cli.common.options import FILES, MORE_FILES, OUTPUT
from cli.common.output import BAD_INPUT, formatted, show
from cli.plan.objects import Objects
from cli.plan.offline import decide, failing_jobs, plain
from cli.plan.render import render
from cli.plan.stream import PlanLines
from nodes.search.unmodelled import why_blocked
from nodes.state.costs import CostRules

__all__ = ["plan"]

NOT_PLACED: Final = 3
PLACED: Final[frozenset[Outcome]] = frozenset({"Fits", "Preempts"})

EPILOG: Final = """\b
Examples:
  kubectl get namespaces,nodes,pods,poddisruptionbudgets,priorityclasses,podgroups.reprieve.dev \\
    -A -o json > cluster.json
  kubectl get pvc,pv,storageclasses,csinodes,csidrivers,csistoragecapacities \\
    -A -o json > storage.json
  reprieve plan -f cluster.json -f storage.json --for team-a/training
  reprieve plan -f cluster.json -f change.yaml --for team-a/web-0 --pod -o yaml

\b
Exit status:
  0  Fits or Preempts; with --jsonl: every line got a plan, and none is Blocked
  3  Unschedulable, SearchBudgetExhausted or Blocked; with --jsonl: a plan is Blocked
  2  bad input, named on standard error; with --jsonl: in the answer to the line

\b
A plan is Blocked if somebody would have to go, but the search does not model everything that
the members use. Then the cluster evicts nobody. As JSON or YAML the plan is the object that
the cluster stores, with the phase Blocked and the reason in its status.
"""


@click.command(epilog=EPILOG)
@FILES
@MORE_FILES
@click.option("--for", "preemptor", metavar="NAMESPACE/NAME", help="The PodGroup to plan for.")
@click.option("--pod", is_flag=True, help="NAMESPACE/NAME is a single pod.")
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
@OUTPUT
@click.option(
    "--jsonl",
    "stream",
    metavar="FILE",
    help='One {"id", "objects": [...], "for": "NAMESPACE/NAME"} a line, with "pod", "scoreTerms" and '
    '"disruptionBudgets" as the options; a PreemptionPlan with "id" a line comes out.',
)
@click.pass_context
def plan(
    context: click.Context,
    files: tuple[str, ...],
    more: tuple[str, ...],
    preemptor: str | None,
    pod: bool,
    terms: tuple[ScoreTerm, ...],
    budgets: BudgetPolicy | None,
    output: str | None,
    stream: str | None,
) -> None:
    """Say who would be preempted for a PodGroup (or a pod), who would stay, and why.

    This is the engine that runs on a cluster. It reads what kubectl get -o json prints, and changes nothing.
    """
    paths = files + more
    if stream is not None:
        if paths or preemptor or pod or terms or budgets or output:
            raise click.UsageError("--jsonl takes no other option: the lines say what to plan for")
        context.exit(_stream(stream))
    if not paths or not preemptor:
        raise click.UsageError("-f FILE and --for NAMESPACE/NAME are needed (or --jsonl FILE)")
    try:
        check_terms(terms, "--score-term")
        costs = CostRules(terms=terms or CostRules().terms, budgets=budgets or "Prefer")
        context.exit(_plan(paths, preemptor, pod, costs, output or "text"))
    except (InputError, FieldError) as error:
        click.echo(f"Error: {error}", err=True)
        context.exit(BAD_INPUT)


def _stream(path: str) -> int:
    answers = PlanLines()
    if not answer_file(path, answers):
        return BAD_INPUT
    return NOT_PLACED if answers.any_blocked else 0


def _plan(paths: tuple[str, ...], preemptor: str, pod: bool, costs: CostRules, output: str) -> int:
    objects = Objects(costs)
    for path in paths:
        objects.add_file(read_file(path), path)
    spec, snapshot = decide(objects, preemptor, pod=pod)
    if output == "text":
        objects.note_ignored()
        show(render(spec, snapshot, failing_jobs(objects, spec)))
    else:
        click.echo(formatted(plain(spec), output), nl=False)
    return 0 if spec.outcome in PLACED and not why_blocked(spec) else NOT_PLACED
