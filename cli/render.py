"""A plan as text that a person reads: who goes, who stays and why, and which domains lost."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from api.plans import Outcome, PreemptionPlanSpec, Score, Victim
from cli.survivors import budget_text, budgets_of, survivors, waiting
from cluster.snapshot import Snapshot

__all__ = ["render", "show"]

COLOURS: Final[dict[Outcome, str]] = {
    "Fits": "bold green",
    "Preempts": "bold yellow",
    "Unschedulable": "bold red",
    "SearchBudgetExhausted": "bold red",
}
PIPE_WIDTH: Final = 100_000
"""Lines of a pipe or a file are as long as they are; tables take no more than they need."""

SCORE: Final = (
    "compared by budgets broken, highest victim priority, sum of priorities (each + 2^31), units, pods, start"
)

MAX_VICTIMS: Final = 30
MAX_SURVIVORS: Final = 5
MAX_NODES: Final = 20
MAX_DOMAINS: Final = 15
MAX_NAMES: Final = 3


def show(plan: RenderableType) -> None:
    """Print to standard output: coloured on a terminal, unless NO_COLOR is set, and never wrapped off it."""
    if sys.stdout.isatty():
        Console(highlight=False, markup=False, emoji=False).print(plan)
        return
    out = Console(width=PIPE_WIDTH, highlight=False, markup=False, emoji=False, no_color=True)
    with out.capture() as capture:
        out.print(plan)
    # Tables fill their cells with spaces, which nobody wants in a file.
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def render(spec: PreemptionPlanSpec, snapshot: Snapshot) -> RenderableType:
    """The whole plan; `snapshot` is what it was made from."""
    parts: list[RenderableType] = [_head(spec)]
    if spec.victims:
        parts += [_title("Who goes"), _victims(spec, snapshot)]
        parts += _stay(spec, snapshot)
    if spec.placements:
        parts += [_title("Placements"), _placements(spec, waiting(snapshot, spec))]
    if spec.domains:
        parts += [_title("Domains"), _domains(spec)]
    if spec.not_modelled:
        parts += [_title("Not modelled"), _not_modelled(spec)]
    return Group(*parts)


def _head(spec: PreemptionPlanSpec) -> RenderableType:
    preemptor = spec.preemptor
    head = Text()
    head.append(spec.outcome, COLOURS[spec.outcome])
    head.append(f"  {preemptor.kind} {preemptor.namespace}/{preemptor.name}", "bold")
    head.append(f", priority {preemptor.priority}")
    return Group(head, _line(_sentence(spec)))


def _sentence(spec: PreemptionPlanSpec) -> str:
    if spec.outcome == "Preempts":
        pods = sum(len(victim.pods) for victim in spec.victims)
        who = f"{_count(len(spec.victims), 'unit')} with {_count(pods, 'pod')}"
        who += f" of priority {spec.priority_cutoff} or lower"
        return f"{who} must go so that {_count(len(spec.placements), 'pod')} can run in {_place(spec)}."
    if spec.placements:
        return f"{_count(len(spec.placements), 'pod')} can run in {_place(spec)}: {spec.reason}."
    return f"{spec.reason[:1].upper()}{spec.reason[1:]}. Nobody goes."


def _place(spec: PreemptionPlanSpec) -> str:
    domain = spec.domain
    if domain is None or domain.topology_key is None:
        return "the cluster"
    return f"{domain.topology_key}={domain.value}"


def _victims(spec: PreemptionPlanSpec, snapshot: Snapshot) -> RenderableType:
    rows = {uid: row for row, uid in enumerate(snapshot.pod_uids)}
    table = _table("unit", "kind", ">priority", ">pods", "nodes", "why")
    for victim in spec.victims[:MAX_VICTIMS]:
        nodes = _some(dict.fromkeys(pod.node for pod in victim.pods))
        why = _cost(victim, snapshot, rows)
        name = Text(f"{victim.namespace}/{victim.name}", "yellow")
        table.add_row(name, victim.kind, str(victim.priority), str(len(victim.pods)), nodes, why)
    return _with_rest(table, len(spec.victims) - MAX_VICTIMS)


def _cost(victim: Victim, snapshot: Snapshot, rows: dict[str, int]) -> Text:
    if not victim.violates_pod_disruption_budget:
        return Text("its room is needed", "dim")
    pods = [rows[pod.uid] for pod in victim.pods if pod.uid in rows]
    budgets = (snapshot.budgets[row] for row, count in budgets_of(snapshot, pods).items() if count)
    return Text(f"breaks budget {_some(budget_text(budget) for budget in budgets if budget)}", "red")


def _stay(spec: PreemptionPlanSpec, snapshot: Snapshot) -> list[RenderableType]:
    stay = survivors(snapshot, spec)
    table, notes = _table("unit", "kind", ">priority", ">pods", "nodes", "why"), []
    for reason in sorted({unit.reason for unit in stay.units}):
        alike = [unit for unit in stay.units if unit.reason is reason]
        for unit in alike[:MAX_SURVIVORS]:
            nodes = _some(
                dict.fromkeys(snapshot.node_names[int(snapshot.pod_node[row])] for row in unit.pods)
            )
            name = Text(unit.name, "green")
            table.add_row(name, unit.kind, str(unit.priority), str(len(unit.pods)), nodes, unit.why)
        if more := len(alike) - MAX_SURVIVORS:
            notes += [f"and {more} more: {reason.text}"] if more > 0 else []
    if stay.elsewhere:
        notes.append(f"{_count(stay.elsewhere, 'unit')} outside {_place(spec)}: left alone")
    if stay.terminating:
        notes.append(f"{_count(stay.terminating, 'pod')} terminating already: counted as gone")
    lines = [_line(note, "dim") for note in notes]
    shown: list[RenderableType] = [table, *lines] if stay.units else [*lines]
    return [_title("Who stays"), *shown] if shown else []


def _placements(spec: PreemptionPlanSpec, left: list[str]) -> RenderableType:
    on: dict[str, list[str]] = defaultdict(list)
    for placement in spec.placements:
        on[placement.node].append(placement.pod)
    table = _table("node", ">pods", "names")
    for node, pods in list(on.items())[:MAX_NODES]:
        table.add_row(Text(node, "cyan"), str(len(pods)), _some(pods))
    shown = _with_rest(table, len(on) - MAX_NODES)
    if not left:
        return shown
    wait = f"{_count(len(left), 'member')} beyond minCount, for whom nobody goes, without room: {_some(left)}"
    return Group(shown, _line(wait, "dim"))


def _domains(spec: PreemptionPlanSpec) -> RenderableType:
    scored = any(result.score is not None for result in spec.domains)
    scores = (">budgets", ">highest", ">sum", ">units", ">pods") if scored else ()
    table = _table("", "domain", "outcome", *scores, "why")
    for result in spec.domains[:MAX_DOMAINS]:
        won = spec.domain is not None and result.value == spec.domain.value
        columns = _score(result.score) if scored else ()
        outcome = Text(result.outcome, COLOURS[result.outcome] if won else "")
        table.add_row("*" if won else "", result.value or "the cluster", outcome, *columns, result.reason)
    others = [
        _line(f"and {other.count} more, {other.outcome}: {other.reason}", "dim")
        for other in spec.other_domains
    ]
    parts = [_with_rest(table, len(spec.domains) - MAX_DOMAINS), *others]
    return Group(_line(SCORE, "dim"), *parts) if scored else Group(*parts)


def _score(score: Score | None) -> Iterable[str]:
    if score is None:
        return [""] * 5
    numbers = (
        score.pod_disruption_budget_violations,
        score.highest_victim_priority,
        score.priority_sum,
        score.units,
        score.pods,
    )
    return ["" if number is None else str(number) for number in numbers]


def _not_modelled(spec: PreemptionPlanSpec) -> RenderableType:
    warning = "The scheduler also looks at these, and the plan does not: it may not come out like this."
    return Group(_line(warning, "yellow"), *[_line(f"- {name}") for name in spec.not_modelled])


def _title(text: str) -> RenderableType:
    return Padding(Text(text, "bold"), (1, 0, 0, 0), expand=False)


def _line(text: str, style: str = "") -> RenderableType:
    return Padding(Text(text, style), (0, 0, 0, 2), expand=False)


def _table(*columns: str) -> Table:
    """A table without lines; columns whose name starts with `>` hold numbers."""
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for column in columns:
        name = column.removeprefix(">")
        table.add_column(name, justify="left" if name == column else "right", overflow="fold")
    return table


def _with_rest(table: Table, more: int) -> RenderableType:
    return Group(table, _line(f"and {more} more (all of them: -o yaml)", "dim")) if more > 0 else table


def _some(names: Iterable[str]) -> str:
    """The first few of them."""
    every = list(names)
    shown = ", ".join(every[:MAX_NAMES])
    return shown if len(every) <= MAX_NAMES else f"{shown} and {len(every) - MAX_NAMES} more"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
