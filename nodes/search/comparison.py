"""The comparison of the domains: the winner and the best losers one by one, and the number of the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from api import plan_results
from api.words import counted
from native.codes import EXHAUSTED, FITS, PREEMPTS, UNSCHEDULABLE
from native.nodes.problem import Solution
from nodes.search.budgets import OVER_BUDGET
from nodes.search.cluster import Cluster
from nodes.search.costs import stated_terms
from nodes.search.problem import Built
from nodes.search.reasons import beaten, coarse_shortages, coarsely_beaten, shortage
from nodes.search.room import Room
from nodes.search.spreading.refusals import Refusals
from nodes.search.units import started

__all__ = ["Comparison", "compare"]

LISTED: Final = 50
"""The number of losers that a plan lists one by one."""

OUTCOMES: Final[dict[int, plan_results.Outcome]] = {
    FITS: "Fits",
    PREEMPTS: "Preempts",
    UNSCHEDULABLE: "Unschedulable",
    EXHAUSTED: "SearchBudgetExhausted",
    OVER_BUDGET: "Unschedulable",
}
ORDER: Final = {FITS: 0, PREEMPTS: 1, OVER_BUDGET: 2, EXHAUSTED: 3, UNSCHEDULABLE: 4}
OVER: Final = "the best plan that was found would exceed PodDisruptionBudgets"
SPENT: Final = "the search budget was spent before it was known whether the members fit"
NEEDS_EVICTIONS: Final = "costs more: it needs evictions"


@dataclass(frozen=True, slots=True)
class Comparison:
    """All domains, best first. `why_none` says in one sentence why no domain takes the preemptor, or is empty."""

    listed: list[plan_results.DomainResult]
    others: list[plan_results.OtherDomains]
    why_none: str


def compare(
    cluster: Cluster, built: Built, found: Solution, budget: int, refusals: Refusals | None = None
) -> Comparison:
    """Give the outcome of each domain and the reason. `budget` is in steps: see `nodes.search.decision.BUDGET`.

    `refusals`: the domains in which filters that look at other nodes refuse every plan.
    """

    ranked = sorted(
        range(len(found.outcomes)),
        key=lambda domain: (
            ORDER[found.outcomes[domain]],
            found.bounded[domain],
            found.scores[domain],
            domain,
        ),
    )
    listed = ranked[: LISTED + (found.winner >= 0)]
    everybody = built.everybody if UNSCHEDULABLE in found.outcomes else built.everybody[:0]
    gone = Room(cluster, everybody)
    short = {
        domain: refusals.why(domain)
        if refusals is not None and domain in refusals
        else shortage(cluster, built, domain, gone, budget)
        for domain in listed
        if found.outcomes[domain] == UNSCHEDULABLE
    }
    results = []
    for domain in listed:
        _, reason = short.get(domain) or (0, _reason(cluster, found, domain))
        results.append(_result(cluster, found, domain, reason))
    why_none = _why_none(cluster, found, short) if found.winner < 0 else ""
    others = _count_others(cluster, found, ranked[len(listed) :], gone, refusals)
    return Comparison(results, others, why_none)


def _why_none(cluster: Cluster, found: Solution, short: dict[int, tuple[int, str]]) -> str:
    """The reason of the domain where most members fit. It stands for all domains."""
    values = cluster.layout.values
    if OVER_BUDGET in found.outcomes:
        return OVER
    if EXHAUSTED in found.outcomes:
        return SPENT
    nearest = max(short, key=lambda domain: (short[domain][0], -domain))
    _, reason = short[nearest]
    return (
        reason
        if len(values) == 1
        else f"does not fit in any of {len(values)} domains; in {values[nearest]}, {reason}"
    )


def _result(cluster: Cluster, found: Solution, domain: int, reason: str) -> plan_results.DomainResult:
    outcome, score = found.outcomes[domain], found.scores[domain]
    return plan_results.DomainResult(
        value=cluster.layout.values[domain],
        outcome=OUTCOMES[outcome],
        reason=reason,
        score=score_of(cluster, outcome, score)
        if outcome in (FITS, PREEMPTS) and not found.bounded[domain]
        else None,
    )


def _reason(cluster: Cluster, found: Solution, domain: int) -> str:
    """The reason for a domain whose outcome is not UNSCHEDULABLE."""
    if found.outcomes[domain] == EXHAUSTED:
        return SPENT
    if found.outcomes[domain] == OVER_BUDGET:
        return f"{OVER} by {counted(found.scores[domain][0], 'pod')}"
    outcome, best = found.outcomes[domain], found.outcomes[found.winner]
    if domain == found.winner:
        alone = sum(each in (FITS, PREEMPTS) for each in found.outcomes) == 1
        return "the only one" if alone else "costs least"
    if outcome != best:
        return NEEDS_EVICTIONS
    mine, winner = found.scores[domain], found.scores[found.winner]
    if outcome == FITS and mine == winner:
        return "fits as well, and its name comes later"
    return beaten(mine, winner, cluster.snapshot.costs.terms, bounded=found.bounded[domain])


def score_of(cluster: Cluster, outcome: int, score: list[int]) -> plan_results.Score:
    """The score of a domain with this outcome of the kernel, as a plan states it. `score`: see `Solution.scores`."""
    violations, highest, priorities, units, pods, age, *values = score
    terms = stated_terms(cluster.snapshot, values)
    if outcome == FITS:
        return plan_results.Score(0, None, 0, 0, 0, None, terms)
    start = datetime.fromtimestamp(started(-age), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return plan_results.Score(violations, highest, priorities, units, pods, start, terms)


def _count_others(
    cluster: Cluster, found: Solution, domains: list[int], gone: Room, refusals: Refusals | None
) -> list[plan_results.OtherDomains]:
    """The domains that are not listed, counted by outcome and by a reason that is cheap to find."""
    counts: Counter[tuple[plan_results.Outcome, str]] = Counter()
    short = [domain for domain in domains if found.outcomes[domain] == UNSCHEDULABLE]
    if refusals:
        counts.update(
            (OUTCOMES[UNSCHEDULABLE], refusals.coarsely(each)) for each in short if each in refusals
        )
        short = [domain for domain in short if domain not in refusals]
    for reason in coarse_shortages(cluster, short, gone) if short else ():
        counts[OUTCOMES[UNSCHEDULABLE], reason] += 1
    for domain in domains:
        outcome = found.outcomes[domain]
        if outcome != UNSCHEDULABLE:
            reason = {FITS: "fits as well", EXHAUSTED: SPENT, OVER_BUDGET: OVER}.get(outcome, "")
            counts[OUTCOMES[outcome], reason or _coarsely(found, domain)] += 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [plan_results.OtherDomains(outcome, reason, count) for (outcome, reason), count in ordered]


def _coarsely(found: Solution, domain: int) -> str:
    """Why a domain lost that needs evictions."""
    if found.outcomes[found.winner] == FITS:
        return NEEDS_EVICTIONS
    return coarsely_beaten(found.scores[domain], found.scores[found.winner], bounded=found.bounded[domain])
