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

from api.plans import DomainResult, Outcome, PreemptionPlanSpec, Victim
from cli.survivors import budget_text, budgets_of, survivors
from cluster.snapshot import Snapshot

__all__ = ["console", "render"]

COLOURS: Final[dict[Outcome, str]] = {
    "Fits": "bold green",
    "Preempts": "bold yellow",
    "Unschedulable": "bold red",
    "SearchBudgetExhausted": "bold red",
}
PIPE_WIDTH: Final = 100_000
"""Lines of a pipe or a file are as long as they are; tables take no more than they need."""

MAX_VICTIMS: Final = 30
MAX_SURVIVORS: Final = 5
MAX_NODES: Final = 20
MAX_DOMAINS: Final = 15
MAX_NAMES: Final = 3


def console() -> Console:
    """Standard output: coloured on a terminal, unless NO_COLOR is set, and never wrapped off it."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False)


def render(spec: PreemptionPlanSpec, snapshot: Snapshot) -> RenderableType:
    """The whole plan; `snapshot` is what it was made from."""
    parts: list[RenderableType] = [_head(spec)]
    if spec.victims:
        parts += [_title("Who goes"), _victims(spec, snapshot)]
        parts += _stay(spec, snapshot)
    if spec.placements:
        parts += [_title("Placements"), _placements(spec)]
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
    return Group(head, Padding(Text(_sentence(spec)), (0, 0, 0, 2)))


def _sentence(spec: PreemptionPlanSpec) -> str:
    where = _place(spec)
    if spec.outcome == "Preempts":
        pods = sum(len(victim.pods) for victim in spec.victims)
        goes = f"{_count(len(spec.victims), 'unit')} ({_count(pods, 'pod')}) must go"
        return f"{goes} for {_count(len(spec.placements), 'pod')} in {where}. {_sentence_case(spec.reason)}"
    if spec.outcome == "Fits":
        placed = f"{_count(len(spec.placements), 'pod')} in {where}" if spec.placements else "everything"
        return f"Nobody goes: there is room for {placed}. {_sentence_case(spec.reason)}"
    return f"Nobody goes. {_sentence_case(spec.reason)}"


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


def _placements(spec: PreemptionPlanSpec) -> RenderableType:
    on: dict[str, list[str]] = defaultdict(list)
    for placement in spec.placements:
        on[placement.node].append(placement.pod)
    table = _table("node", ">pods", "names")
    for node, pods in list(on.items())[:MAX_NODES]:
        table.add_row(Text(node, "cyan"), str(len(pods)), _some(pods))
    return _with_rest(table, len(on) - MAX_NODES)


def _domains(spec: PreemptionPlanSpec) -> RenderableType:
    table = _table(
        "", "domain", "outcome", ">budgets broken", ">highest", ">priority sum", ">units", ">pods", "why"
    )
    for result in spec.domains[:MAX_DOMAINS]:
        won = spec.domain is not None and result.value == spec.domain.value
        table.add_row(*_domain(result, won), style="" if won else "dim")
    others = [
        _line(f"and {other.count} more, {other.outcome}: {other.reason}", "dim")
        for other in spec.other_domains
    ]
    return Group(_with_rest(table, len(spec.domains) - MAX_DOMAINS), *others)


def _domain(result: DomainResult, won: bool) -> Iterable[RenderableType]:
    yield "*" if won else ""
    yield "the cluster" if result.value is None else result.value
    yield Text(result.outcome, COLOURS[result.outcome] if won else "")
    score = result.score
    if score is None:
        yield from [""] * 5
    else:
        yield str(score.pod_disruption_budget_violations)
        yield "" if score.highest_victim_priority is None else str(score.highest_victim_priority)
        yield from map(str, (score.priority_sum, score.units, score.pods))
    yield result.reason


def _not_modelled(spec: PreemptionPlanSpec) -> RenderableType:
    warning = "The scheduler also looks at these, and the plan does not: it may not come out like this."
    return Group(_line(warning, "yellow"), *[_line(f"- {name}") for name in spec.not_modelled])


def _title(text: str) -> RenderableType:
    return Padding(Text(text, "bold"), (1, 0, 0, 0), expand=False)


def _line(text: str, style: str = "") -> RenderableType:
    return Padding(Text(text, style), (0, 0, 0, 2), expand=False)


def _table(*columns: str) -> Table:
    """A table without lines; columns whose name starts with `>` hold numbers."""
    table = Table(box=None, padding=(0, 1), pad_edge=True, header_style="dim", show_edge=False)
    for column in columns:
        name = column.removeprefix(">")
        last = column == columns[-1]
        table.add_column(
            name,
            justify="right" if name != column else "left",
            overflow="fold",
            ratio=None,
            no_wrap=not last and name != column,
        )
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


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]
