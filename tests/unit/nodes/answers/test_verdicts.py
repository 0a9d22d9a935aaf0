"""What a plan means where something is not modelled."""

from __future__ import annotations

import pytest

from api.plans import Placement, PreemptionPlanSpec, Preemptor, Victim
from nodes.answers.verdicts import doubts, plain, verdict, why_not_certain

CLAIMS = "resource claims (DRA)"
DISK = "Azure disk"
NATIVE = "native pod group (scheduling.k8s.io)"
LESS = "toleration operator Gt"


def plan(outcome: str, *names: str) -> PreemptionPlanSpec:
    spec = PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "d", "g", "u", 5),
        outcome=outcome,  # type: ignore[arg-type]  # each case has one of the words
        reason="",
    )
    spec.not_modelled = list(names)
    if outcome in ("Fits", "Preempts"):
        spec.placements = [Placement("m", "n", "u-m")]
    if outcome == "Preempts":
        spec.victims = [
            Victim(
                kind="Pod",
                namespace="d",
                name="v",
                uid="u-v",
                priority=0,
                pods=[],
                violates_pod_disruption_budget=False,
            )
        ]
    return spec


CASES = {
    "all is modelled": (plan("Fits"), "Fits", ()),
    "what may refuse": (plan("Fits", CLAIMS), "Unknown", (CLAIMS,)),
    "what the scheduler is asked about": (plan("Preempts", DISK), "Unknown", (DISK,)),
    "what it cannot be asked about": (plan("Preempts", CLAIMS), "Blocked", ()),
    "what may refuse, and nothing fits": (plan("Unschedulable", CLAIMS, DISK), "Unschedulable", ()),
    "what may admit, and nothing fits": (plan("Unschedulable", CLAIMS, LESS), "Unknown", (LESS,)),
    "not known anyway": (plan("SearchBudgetExhausted", CLAIMS), "SearchBudgetExhausted", ()),
    "the scheduler's own group, without victims": (plan("Fits", NATIVE), "Fits", ()),
    "the scheduler's own group, with victims": (plan("Preempts", NATIVE), "Blocked", ()),
}


@pytest.mark.parametrize("case", CASES)
def test_an_outcome_stands_where_nothing_could_change_it(case: str) -> None:
    spec, word, names = CASES[case]
    assert (verdict(spec), doubts(spec)) == (word, names)
    assert plain(spec)["outcome"] == ("Unknown" if names else spec.outcome)
    assert bool(why_not_certain(spec)) == (word in ("Unknown", "Blocked"))
