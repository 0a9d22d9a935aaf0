"""A plan as text for a person: the victims, the survivors and the reasons, and the domains that lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import UNSET
from rich.console import Group, RenderableType
from rich.text import Text

from api.disruption import DISRUPTION_TARGET, ScoreTerm
from api.plan_results import Outcome, Score, SearchReport
from api.plans import PreemptionPlanSpec, Victim
from api.unmodelled import doubted
from api.words import counted, some
from cli.common.output import line, plain_table, title, with_rest
from nodes.answers.verdicts import Verdict, doubts, verdict, why_not_certain
from nodes.groups.keys import short_name
from nodes.search.costs import TERM_WORDS
from nodes.search.counted import budgets_of
from nodes.search.survivors import budget_text, survivors, waiting
from nodes.search.unmodelled import why_blocked
from nodes.state.snapshot import Snapshot

__all__ = ["render"]

COLOURS: Final[dict[Outcome, str]] = {
    "Fits": "bold green",
    "Preempts": "bold yellow",
    "Proposes": "bold yellow",
    "Unschedulable": "bold red",
    "SearchBudgetExhausted": "bold red",
    "Releases": "bold yellow",
    "Withdraws": "bold yellow",
}
DOUBTED: Final[dict[Verdict, str]] = {"Blocked": "bold red", "Unknown": "bold red"}
SCORE: Final = (
    "compared by budgets broken, highest victim priority, sum of priorities (each + 2^31), units, pods, start"
)

TERMS: Final[dict[ScoreTerm, str]] = {"DisruptionCost": "cost", "Cascade": "stuck", "Fragmentation": "whole"}
"""The columns of the optional terms."""

MAX_VICTIMS: Final = 30
MAX_SURVIVORS: Final = 5
MAX_NODES: Final = 20
MAX_DOMAINS: Final = 15
MAX_EXCLUDED: Final = 15
MAX_BUDGETS: Final = 15
MAX_JOBS: Final = 15


def render(
    spec: PreemptionPlanSpec, snapshot: Snapshot, failing: Sequence[tuple[str, str]] = ()
) -> RenderableType:
    """The whole plan. `snapshot` is the one that the plan was made from; `failing`: see `failing_jobs`."""
    parts: list[RenderableType] = [_head(spec)]
    if spec.victims:
        parts += [title("Would be evicted" if why_not_certain(spec) else "Victims"), _victims(spec, snapshot)]
        parts += _stay(spec, snapshot)
    if failing:
        parts += [title("Jobs that fail for good"), _failing(failing)]
    if spec.placements:
        parts += [title("Placements"), _placements(spec, waiting(snapshot, spec))]
    if spec.domains:
        parts += [title("Domains"), _domains(spec)]
    if spec.stopped_by_pod_disruption_budgets:
        parts += [title("Budgets that stop it"), _stopping(spec)]
    if spec.excluded:
        parts += [title("Excluded"), _excluded(spec)]
    if spec.not_modelled:
        parts += [title("Not modelled"), _not_modelled(spec)]
    return Group(*parts)


def _head(spec: PreemptionPlanSpec) -> RenderableType:
    preemptor = spec.preemptor
    found = verdict(spec)
    head = Text()
    head.append(found, DOUBTED.get(found) or COLOURS[spec.outcome])
    head.append(f"  {preemptor.kind} {preemptor.namespace}/{preemptor.name}", "bold")
    head.append(f", priority {preemptor.priority}")
    if why := why_blocked(spec) or ("" if spec.mismatch is UNSET else spec.mismatch):
        head.append(f": {why}")
    parts: list[RenderableType] = [head, line(doubted(_sentence(spec), doubts(spec)))]
    if spec.search is not UNSET:
        parts.append(line(_search(spec.search), "dim"))
    return Group(*parts)


def _sentence(spec: PreemptionPlanSpec) -> str:
    if spec.outcome == "Preempts":
        pods = sum(len(victim.pods) for victim in spec.victims)
        who = f"{counted(len(spec.victims), 'unit')} with {counted(pods, 'pod')}"
        who += f" of priority {spec.priority_cutoff} or lower"
        if why_blocked(spec):
            return f"Nothing is evicted. Otherwise {who} would be evicted."
        _, _, also = spec.reason.partition("; ")
        place = f"{_place(spec)}: {also}" if also else _place(spec)
        return f"{who} must be evicted so that {counted(len(spec.placements), 'pod')} can run in {place}."
    if spec.placements:
        return f"{counted(len(spec.placements), 'pod')} can run in {_place(spec)}: {spec.reason}."
    return f"{spec.reason[:1].upper()}{spec.reason[1:]}. Nothing is evicted."


def _search(report: SearchReport) -> str:
    if report.ended:
        return "Everything was tried: no plan costs less."
    cutoff = ", but none with a lower highest priority" if report.lowest_cutoff else ""
    spent = f"{report.work_microseconds / 1000:.0f} ms of work"
    return f"The search stopped after {spent}: there may be a better plan{cutoff}."


def _place(spec: PreemptionPlanSpec) -> str:
    domain = spec.domain
    if domain is None or domain.topology_key is None:
        return "the cluster"
    return f"{domain.topology_key}={domain.value}"


def _victims(spec: PreemptionPlanSpec, snapshot: Snapshot) -> RenderableType:
    table = plain_table("unit", "kind", ">priority", ">pods", "nodes", "why")
    for victim in spec.victims[:MAX_VICTIMS]:
        nodes = some(dict.fromkeys(pod.node for pod in victim.pods))
        why = _cost(victim, snapshot)
        name = Text(f"{victim.namespace}/{short_name(victim.name)}", "yellow")
        table.add_row(name, victim.kind, str(victim.priority), str(len(victim.pods)), nodes, why)
    return with_rest(table, len(spec.victims) - MAX_VICTIMS)


def _cost(victim: Victim, snapshot: Snapshot) -> Text:
    if not victim.violates_pod_disruption_budget:
        return Text("its room is needed", "dim")
    pods = [snapshot.pod_rows[pod.uid] for pod in victim.pods if pod.uid in snapshot.pod_rows]
    budgets = (snapshot.budgets[row] for row, count in budgets_of(snapshot, pods).items() if count)
    return Text(f"breaks budget {some(budget_text(budget) for budget in budgets if budget)}", "red")


def _failing(failing: Sequence[tuple[str, str]]) -> RenderableType:
    said = [line(f"{name}: {why}", "red") for name, why in failing[:MAX_JOBS]]
    if more := len(failing) - len(said):
        said.append(line(f"and {counted(more, 'more Job')}", "dim"))
    advice = f"A podFailurePolicy that ignores the pod condition {DISRUPTION_TARGET} prevents it."
    return Group(*said, line(advice, "dim"))


def _stay(spec: PreemptionPlanSpec, snapshot: Snapshot) -> list[RenderableType]:
    stay = survivors(snapshot, spec)
    table, notes = plain_table("unit", "kind", ">priority", ">pods", "nodes", "why"), []
    for reason in sorted({unit.reason for unit in stay.units}):
        alike = [unit for unit in stay.units if unit.reason is reason]
        for unit in alike[:MAX_SURVIVORS]:
            nodes = some(dict.fromkeys(snapshot.node_names[int(snapshot.pod_node[row])] for row in unit.pods))
            name = Text(short_name(unit.name), "green")
            table.add_row(name, unit.kind, str(unit.priority), str(len(unit.pods)), nodes, unit.why)
        if more := len(alike) - MAX_SURVIVORS:
            notes += [f"and {more} more: {reason.text}"] if more > 0 else []
    if stay.elsewhere:
        notes.append(f"{counted(stay.elsewhere, 'unit')} outside {_place(spec)}: left alone")
    if stay.terminating:
        notes.append(f"{counted(stay.terminating, 'pod')} terminating already: counted as gone")
    lines = [line(note, "dim") for note in notes]
    shown: list[RenderableType] = [table, *lines] if stay.units else [*lines]
    return [title("Who stays"), *shown] if shown else []


def _placements(spec: PreemptionPlanSpec, left: list[str]) -> RenderableType:
    on: dict[str, list[str]] = defaultdict(list)
    for placement in spec.placements:
        on[placement.node].append(placement.pod)
    table = plain_table("node", ">pods", "names")
    for node, pods in list(on.items())[:MAX_NODES]:
        table.add_row(Text(node, "cyan"), str(len(pods)), some(pods))
    shown = with_rest(table, len(on) - MAX_NODES)
    if waves := {each.wave for each in spec.placements if each.wave is not UNSET}:
        first = [each.pod for each in spec.placements if each.wave == 0]
        order = (
            f"they come in {len(waves)} waves, each one when the earlier ones are bound; first {some(first)}"
        )
        shown = Group(shown, line(order, "dim"))
    if not left:
        return shown
    wait = f"{counted(len(left), 'member')} beyond minCount have no room; nothing is evicted for them: {some(left)}"
    return Group(shown, line(wait, "dim"))


def _domains(spec: PreemptionPlanSpec) -> RenderableType:
    scored = any(result.score is not None for result in spec.domains)
    terms = _terms(spec)
    scores = (">budgets", ">highest", ">sum", ">units", ">pods", *(f">{TERMS[term]}" for term in terms))
    table = plain_table("", "domain", "outcome", *(scores if scored else ()), "why")
    for result in spec.domains[:MAX_DOMAINS]:
        won = spec.domain is not None and result.value == spec.domain.value
        columns = _score(result.score, terms) if scored else ()
        outcome = Text(result.outcome, COLOURS[result.outcome] if won else "")
        table.add_row("*" if won else "", result.value or "the cluster", outcome, *columns, result.reason)
    others = [
        line(f"and {other.count} more, {other.outcome}: {other.reason}", "dim")
        for other in spec.other_domains
    ]
    parts = [with_rest(table, len(spec.domains) - MAX_DOMAINS), *others]
    by = "".join(f", then {TERM_WORDS[term]} ({TERMS[term]})" for term in terms)
    return Group(line(SCORE + by, "dim"), *parts) if scored else Group(*parts)


def _terms(spec: PreemptionPlanSpec) -> list[ScoreTerm]:
    """The optional terms that some domain costs something by."""
    values = [term for result in spec.domains if result.score is not None for term in result.score.terms]
    return list(dict.fromkeys(term.name for term in values if term.value))


def _score(score: Score | None, terms: list[ScoreTerm]) -> Iterable[str]:
    if score is None:
        return [""] * (5 + len(terms))
    values = {term.name: term.value for term in score.terms}
    numbers = (
        score.pod_disruption_budget_violations,
        score.highest_victim_priority,
        score.priority_sum,
        score.units,
        score.pods,
        *(values.get(term) for term in terms),
    )
    return ["" if number is None else str(number) for number in numbers]


def _stopping(spec: PreemptionPlanSpec) -> RenderableType:
    table = plain_table("budget", ">allows")
    listed = spec.stopped_by_pod_disruption_budgets or []
    for each in listed[:MAX_BUDGETS]:
        table.add_row(Text(f"{each.namespace}/{each.name}", "cyan"), str(each.allowed))
    return with_rest(table, len(listed) - MAX_BUDGETS)


def _excluded(spec: PreemptionPlanSpec) -> RenderableType:
    table = plain_table("node", "pod", "what was seen of the scheduler")
    listed = spec.excluded or []
    for each in listed[:MAX_EXCLUDED]:
        table.add_row(Text(each.node, "cyan"), each.pod, each.seen)
    return with_rest(table, len(listed) + (spec.other_excluded or 0) - MAX_EXCLUDED)


def _not_modelled(spec: PreemptionPlanSpec) -> RenderableType:
    warning = "The scheduler also looks at these, but the plan does not. The scheduler may decide otherwise."
    return Group(line(warning, "yellow"), *[line(f"- {name}") for name in spec.not_modelled])
