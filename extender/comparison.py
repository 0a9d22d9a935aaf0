"""How the domains compare: the winner and the best losers one by one, the others counted."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Final

from api import plans
from extender.problem import Built, Cluster
from extender.reasons import beaten, coarse_shortage, shortage
from native.problem import EXHAUSTED, FITS, PREEMPTS, UNSCHEDULABLE, Found

__all__ = ["compare"]

LISTED: Final = 50
"""Losers that are listed one by one."""

OUTCOMES: Final[dict[int, plans.Outcome]] = {
    FITS: "Fits",
    PREEMPTS: "Preempts",
    UNSCHEDULABLE: "Unschedulable",
    EXHAUSTED: "SearchBudgetExhausted",
}
ORDER: Final = {FITS: 0, PREEMPTS: 1, EXHAUSTED: 2, UNSCHEDULABLE: 3}
SPENT: Final = "the search budget was spent before it was known whether the members fit"


def compare(
    cluster: Cluster, built: Built, found: Found, budget: int
) -> tuple[list[plans.DomainResult], list[plans.OtherDomains]]:
    """Best domains first; without a winner the first of the list says why there is none."""
    ranked = sorted(
        range(len(found.outcomes)),
        key=lambda domain: (ORDER[found.outcomes[domain]], found.scores[domain], domain),
    )
    listed = ranked[: LISTED + (found.winner >= 0)]
    results = [_result(cluster, built, found, domain, budget) for domain in listed]
    return results, _count_others(cluster, built, found, ranked[len(listed) :])


def _result(cluster: Cluster, built: Built, found: Found, domain: int, budget: int) -> plans.DomainResult:
    outcome, score = found.outcomes[domain], found.scores[domain]
    reason = ""
    if outcome == UNSCHEDULABLE:
        reason = shortage(cluster, built, domain, budget)
    elif outcome == EXHAUSTED:
        reason = SPENT
    else:
        reason = _against_winner(found, domain)
    return plans.DomainResult(
        value=cluster.layout.values[domain],
        outcome=OUTCOMES[outcome],
        reason=reason,
        score=_score(outcome, score) if outcome in (FITS, PREEMPTS) else None,
    )


def _against_winner(found: Found, domain: int) -> str:
    outcome, best = found.outcomes[domain], found.outcomes[found.winner]
    if domain == found.winner:
        alone = sum(each in (FITS, PREEMPTS) for each in found.outcomes) == 1
        return "the only one" if alone else "costs least"
    if outcome == FITS:
        return "fits as well, and its name comes later"
    return (
        "costs more: somebody has to go"
        if best == FITS
        else beaten(found.scores[domain], found.scores[found.winner])
    )


def _score(outcome: int, score: list[int]) -> plans.Score:
    violations, highest, priorities, units, pods, age = score
    if outcome == FITS:
        return plans.Score(0, None, 0, 0, 0, None)
    start = datetime.fromtimestamp(-age, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return plans.Score(violations, highest, priorities, units, pods, start)


def _count_others(
    cluster: Cluster, built: Built, found: Found, domains: list[int]
) -> list[plans.OtherDomains]:
    """Domains beyond the listed ones, by outcome and by a reason that is cheap to find."""
    room = cluster.room_without(built.units.pods) if domains else None
    counts: Counter[tuple[plans.Outcome, str]] = Counter()
    for domain in domains:
        outcome = found.outcomes[domain]
        reason = {FITS: "fits as well", PREEMPTS: "costs more", EXHAUSTED: SPENT}.get(outcome, "")
        if outcome == UNSCHEDULABLE and room is not None:
            reason = coarse_shortage(cluster, built, domain, room)
        counts[OUTCOMES[outcome], reason] += 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [plans.OtherDomains(outcome, reason, count) for (outcome, reason), count in ordered]
