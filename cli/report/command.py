"""`reprieve report`: what the scheduler did in place of observed plans."""

from __future__ import annotations

from typing import Final

import click

from answers.reading.plans import Reported
from answers.reports.costs import Prices
from answers.reports.decisions import decisions_of
from answers.reports.report import BY, By
from answers.reports.report import report as report_of
from cli.common.completion import a_namespace
from cli.common.duration import Duration
from cli.common.ending import ending
from cli.common.options import NOW, OUTPUT_OR_PAGE
from cli.common.output import show, show_as, show_page
from cli.common.sources import Sources, reading
from cli.report.page import page_of
from cli.report.price import Price, prices_of
from cli.report.render import render

__all__ = ["report"]

WEEK: Final = 7 * 86400
NOTHING: Final = 3

EPILOG: Final = """\b
Examples:
  reprieve report
  reprieve report --since 1d --by namespace
  reprieve report -n team-a --by gang -o json
  reprieve report --since 30d -o html > report.html
  reprieve report --price nvidia.com/gpu=2.5 --price cpu=0.04
  kubectl get preemptionplans,clusterpreemptionplans,preemptionreports -A -o json > plans.json
  reprieve report -f plans.json --since 30d

\b
Exit status:
  0  there is something to report
  3  no plan says yet what the scheduler did instead
  2  bad input, named on standard error
  1  the cluster cannot be read; standard error names a right that is missing

\b
docs/account.md says what is compared. A decision counts for the day on which it was made. Sums, days and namespaces
are from PreemptionReports as far as there are any, so they also count plans that were deleted. Priorities, gangs and
single decisions are from plans.
"""


@click.command("report", epilog=EPILOG)
@click.option(
    "--since",
    "seconds",
    type=Duration(),
    default=WEEK,
    help="How far back, such as 12h or 30d. By default 7d.",
)
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="Only for preemptors of this namespace.",
    shell_complete=a_namespace,
)
@click.option(
    "--by", type=click.Choice(BY), default="day", help="One row for each of these. day is the default."
)
@click.option(
    "--price",
    "prices",
    metavar="RESOURCE=AMOUNT",
    type=Price(),
    multiple=True,
    callback=prices_of,
    help="What an hour of a core (cpu), a GiB (memory) or a device costs. Then costs are in money, too. "
    "May be repeated.",
)
@NOW
@reading
@OUTPUT_OR_PAGE
@click.pass_context
def report(
    context: click.Context,
    seconds: int,
    namespace: str | None,
    by: By,
    prices: Prices,
    now: str | None,
    sources: Sources,
    output: str | None,
) -> None:
    """Say what the scheduler did where planning.mode is Observe, beside what reprieve would have done.

    The command reads the stored PreemptionPlans and PreemptionReports of a live cluster, or of files with -f. It
    changes nothing.
    """
    with ending(context) as progress:
        read, moment = Reported(), sources.now(now)
        sources.read(read, progress)
        answer = report_of(
            decisions_of(read.plans()),
            read.reports,
            now=moment,
            since=moment - seconds,
            by=by,
            namespace=namespace,
            prices=prices,
        )
        if output in (None, "text"):
            show(render(answer))
        elif output == "html":
            show_page(page_of(answer))
        else:
            show_as(answer.plain(), output or "json")
        context.exit(0 if answer.total.decisions else NOTHING)
