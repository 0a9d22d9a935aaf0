"""Worker clusters as text for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from answers.clusters import AllClusters, Cluster
from api.times import parse_rfc3339, rfc3339
from api.words import counted
from cli.common.output import line, plain_table, title

__all__ = ["render", "render_one"]

COLOURS: Final = {"Active": "green", "Inactive": "red", "Missing": "red", "Unknown": "yellow"}
GATES: Final = {"Honoured": "yes", "NotHonoured": "no", "Unknown": "not known"}
MOST: Final = 20
"""Workloads that are listed of one cluster."""


def render(answer: AllClusters) -> RenderableType:
    """All clusters, then why some are not active, then the turns that last."""
    if not answer.clusters:
        return Text("There is no MultiKueueCluster.", "bold")
    table = plain_table("cluster", "state", "since", "gates", ">offered", ">running", ">turns")
    for each in answer.clusters:
        numbers = (str(len(each.offered)), str(len(each.has)), str(len(each.turns)))
        state = Text(each.state, COLOURS[each.state])
        table.add_row(Text(each.name, "cyan"), state, each.since, GATES[each.gates], *numbers)
    return Group(table, *_wrong(answer.clusters), *_turns(answer.clusters))


def render_one(cluster: Cluster) -> RenderableType:
    """Everything that is known of one cluster."""
    head = Text.assemble(
        (cluster.state, COLOURS[cluster.state]), ("  MultiKueueCluster ", "bold"), (cluster.name, "bold")
    )
    said = [line(f"{cluster.reason}: {cluster.message}" if cluster.reason else cluster.message)]
    if cluster.since:
        said.append(line(f"since: {cluster.since}", "dim"))
    gates = f" ({cluster.gates_message})" if cluster.gates_message else ""
    said.append(line(f"honours preemption gates: {GATES[cluster.gates]}{gates}", "dim"))
    said.append(line(f"named by MultiKueueConfigs: {', '.join(cluster.configs) or 'none'}", "dim"))
    return Group(
        head,
        *said,
        *_listed("Offered to it, and to others", cluster.offered),
        *_listed("Runs in it", cluster.has),
        *_turns([cluster]),
    )


def _wrong(clusters: Sequence[Cluster]) -> Iterator[RenderableType]:
    for each in clusters:
        if each.state != "Active":
            yield line(
                f"{each.name}: {each.reason}: {each.message}"
                if each.reason
                else f"{each.name}: {each.message}",
                "red",
            )
        if each.gates != "Honoured" and each.gates_message:
            yield line(f"{each.name}: {each.gates_message}", "yellow")


def _turns(clusters: Sequence[Cluster]) -> Iterator[RenderableType]:
    if not any(each.turns for each in clusters):
        return
    yield title("Whose turn it is to preempt")
    for cluster in clusters:
        for each in cluster.turns[:MOST]:
            until = rfc3339(parse_rfc3339(each.spec.until))
            workload = f"{each.metadata.namespace}/{each.spec.workload.name}"
            yield line(f"{cluster.name}, for {workload} until {until} (turn {each.spec.number})")
            yield line(f"  {each.spec.reason}", "dim")
        yield from _more(len(cluster.turns), "turn")


def _listed(heading: str, workloads: Sequence[str]) -> Iterator[RenderableType]:
    if not workloads:
        return
    yield title(heading)
    yield from (line(each, "yellow") for each in workloads[:MOST])
    yield from _more(len(workloads), "Workload")


def _more(number: int, noun: str) -> Iterator[RenderableType]:
    if number > MOST:
        yield line(f"and {counted(number - MOST, f'more {noun}')}", "dim")
