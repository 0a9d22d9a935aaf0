"""Whether the scheduler agrees with a plan: each sentence of the rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.gangs.scheduler.messages import PreemptionOutcome
from controllers.gangs.scheduler.offers import Absence, Ended, Shown
from controllers.gangs.scheduler.proofs import Doubt, PlannedMember, Proof, prove

FREE = PlannedMember(node="n1", priority=100)
EVICTING = PlannedMember(node="n1", priority=100, gone={"v": 1, "leaves": 5}, victims={"v", "w"})
LEAVING = PlannedMember(node="n1", priority=100, gone={"leaves": 5})

OFFERED = Shown(is_offered=True, last=Ended(1.0, True, None))
ABSENT = Shown(absence=Absence(1.0, 10), last=Ended(1.0, True, None))


def candidate(*victims: str) -> Shown:
    return Shown(candidates=(frozenset(victims),), last=Ended(1.0, True, None))


def ended(outcome: PreemptionOutcome | None, complete: bool = False) -> Shown:
    return Shown(last=Ended(1.0, complete, outcome))


CONFIRMED = [
    (OFFERED, FREE, "filter was offered n1"),
    (OFFERED, EVICTING, "filter was offered n1"),
    (OFFERED, LEAVING, "filter was offered n1"),
    (candidate("v"), EVICTING, "preempt was offered n1"),
    (candidate("v", "leaves"), EVICTING, "preempt was offered n1"),
    (candidate("v", "w"), EVICTING, "preempt was offered n1"),  # w is elsewhere: an `all` group goes with v
    (candidate("leaves"), LEAVING, "preempt was offered n1"),
    (candidate(), EVICTING, "preempt was offered n1"),
    (Shown(candidates=(frozenset("x"), frozenset("v"))), EVICTING, "preempt was offered n1"),
    # An offer confirms, whatever else is unknown.
    (OFFERED, replace(EVICTING, never=True, asks_about_others=True, kept_away=True), "filter was offered"),
    (OFFERED, replace(EVICTING, gone={"v": 100}, nomination_changes=99), "filter was offered n1"),
]

CONTRADICTED = [
    (ABSENT, FREE, "did not offer n1"),
    (ABSENT, EVICTING, "did not offer n1, not even with pods evicted"),
    (ABSENT, LEAVING, "did not offer n1, not even with pods evicted"),
    (ABSENT, replace(EVICTING, gone={"v": 99}), "did not offer n1"),
    (ABSENT, replace(EVICTING, nomination_changes=10), "did not offer n1"),
    # An attempt that was not complete does not take back what one before it showed.
    (replace(ABSENT, last=Ended(2.0, False, None)), EVICTING, "did not offer n1"),
]

UNKNOWN = [
    (Shown(), FREE, "no scheduler was seen to finish"),
    (Shown(), EVICTING, "no scheduler was seen to finish"),
    (ended(None), EVICTING, "only a part of the nodes"),
    (ended(PreemptionOutcome.NO_CANDIDATES), EVICTING, "only a part of the nodes"),
    (ended(PreemptionOutcome.NEVER), EVICTING, "preemptionPolicy is Never"),
    (ended(PreemptionOutcome.TERMINATING), EVICTING, "terminates on the pod's nominated node"),
    (ended(PreemptionOutcome.EXPECTED_VICTIM), EVICTING, "dry run of evictions failed"),
    (ended(PreemptionOutcome.EMPTY_ANSWER), EVICTING, "candidates are not known"),
    (ended(PreemptionOutcome.OTHER), EVICTING, "did not say"),
    (ended(None, complete=True), EVICTING, "has changed since"),
    (candidate("x"), EVICTING, "other victims than the plan's"),
    (candidate("v", "x"), EVICTING, "other victims than the plan's"),
    (candidate("w"), LEAVING, "other victims than the plan's"),
    # On a node without victims, only filter confirms.
    (candidate("w"), replace(FREE, victims={"w"}), "pods would have to be evicted"),
    (candidate(), FREE, "pods would have to be evicted"),
    (ABSENT, replace(FREE, never=True), "preemptionPolicy is Never"),
    (ABSENT, replace(EVICTING, kept_away=True), "managedResources"),
    (ABSENT, replace(EVICTING, gone={"v": 100, "u": 101}), "does not count pod u as gone"),
    (ABSENT, replace(LEAVING, gone={"leaves": 100}), "does not count pod leaves as gone"),
    (ABSENT, replace(EVICTING, asks_about_others=True), "pods of other nodes"),
    (ABSENT, replace(EVICTING, nomination_changes=11), "nomination to n1 has changed"),
]


@pytest.mark.parametrize(
    ("shown", "member", "proof", "seen"),
    [(shown, member, Proof.CONFIRMED, seen) for shown, member, seen in CONFIRMED]
    + [(shown, member, Proof.CONTRADICTED, seen) for shown, member, seen in CONTRADICTED]
    + [(shown, member, Proof.UNKNOWN, seen) for shown, member, seen in UNKNOWN],
)
def test_a_proof(shown: Shown, member: PlannedMember, proof: Proof, seen: str) -> None:
    verdict = prove(shown, member)
    assert verdict.proof is proof
    assert seen in verdict.seen


@pytest.mark.parametrize(
    ("shown", "member", "doubt"),
    [
        (ended(None, complete=True), EVICTING, Doubt.STALE),
        (ended(PreemptionOutcome.NO_CANDIDATES, complete=True), EVICTING, Doubt.STANDS),
        (ended(PreemptionOutcome.NO_CANDIDATES, complete=True), FREE, Doubt.STANDS),
        (ended(PreemptionOutcome.NO_CANDIDATES), EVICTING, None),
        (Shown(), EVICTING, None),
        (candidate("x"), EVICTING, None),
        (
            replace(ABSENT, last=ended(None, complete=True).last),
            replace(EVICTING, nomination_changes=11),
            None,
        ),
        # The scheduler never looks at the room that the plan means.
        (ended(None, complete=True), replace(EVICTING, gone={"v": 100}), None),
        (ended(None, complete=True), replace(EVICTING, asks_about_others=True), None),
        (ended(None, complete=True), replace(EVICTING, never=True), None),
        (ended(None, complete=True), replace(EVICTING, kept_away=True), None),
        # A proof leaves none.
        (OFFERED, EVICTING, None),
        (ABSENT, EVICTING, None),
    ],
)
def test_a_refusal_from_before_a_change_leaves_a_doubt(
    shown: Shown, member: PlannedMember, doubt: Doubt | None
) -> None:
    assert prove(shown, member).doubt is doubt
