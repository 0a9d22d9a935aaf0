"""Which stored plans stay, which are ended, and which go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import hypothesis.strategies as st
import pytest
from hypothesis import given

from api.instead import Instead, InsteadVictims
from api.meta import ObjectMeta
from api.plan_names import PlanKey
from api.plans import Phase, PreemptionPlanSpec, PreemptionPlanStatus, Preemptor
from api.times import rfc3339
from controllers.gangs.lifecycle.stored_plan import ACTIVE, COUNTED_SECONDS, StoredPlan
from controllers.gangs.writing.housekeeping import Chores
from controllers.gangs.writing.housekeeping import chores as chores_of
from runtime.plans.plan_retention import Retention

DAY = 86400.0
RETENTION = Retention(DAY, kept=3)
PHASES: list[Phase] = [
    "Planned", "Evicting", "Ready", "Bound", "Blocked", "Unschedulable", "Aborted", "Expired",
]  # fmt: skip


def stored(
    name: str,
    phase: Phase = "Unschedulable",
    *,
    touched: float = 0.0,
    evicted: bool = False,
    owner: str = "hero",
    uid: str = "uid",
    kind: Literal["PodGroup", "Pod"] = "PodGroup",
    finalized: bool = False,
    instead: Instead | None = None,
) -> StoredPlan:
    spec = PreemptionPlanSpec(
        preemptor=Preemptor(kind, "reprieve.dev/v1alpha1", "team", owner, uid, 1),
        outcome="Fits",
        reason="",
    )
    return StoredPlan(
        meta=ObjectMeta(name=name, namespace="team"),
        owner=(kind, "team", owner),
        status=PreemptionPlanStatus(phase=phase, instead=instead),
        finalized=finalized,
        committed=touched,
        preemptor=uid,
        touched=touched,
        evicting=1.0 if evicted else 0.0,
        bound=0.0,
        in_vain=None,
        spec=spec if phase in ACTIVE else None,
    )


def chores(
    plans: list[StoredPlan],
    carried_out: set[PlanKey],
    now: float,
    retention: Retention,
    lasts: Callable[[StoredPlan], bool] = lambda plan: plan.owner[0] == "PodGroup",
) -> Chores:
    """If nothing else is said, every PodGroup still exists."""
    return chores_of(plans, carried_out, now, retention, lasts=lasts)


def gone(_: StoredPlan) -> bool:
    """No preemptor exists any longer."""
    return False


def names(plans: list[StoredPlan]) -> list[str]:
    return [plan.meta.name for plan in plans]


def test_the_last_three_that_evicted_nobody_stay() -> None:
    plans = [stored(f"p{number}", touched=number) for number in range(5)]
    assert names(chores(plans, set(), 10.0, RETENTION).surplus) == ["p0", "p1"]


def test_a_plan_that_evicted_stays_a_day() -> None:
    plans = [stored("old", "Aborted", touched=0.0, evicted=True), stored("new", touched=10.0)]
    assert names(chores(plans, set(), DAY - 1, RETENTION).surplus) == []
    assert names(chores(plans, set(), DAY, RETENTION).surplus) == ["old"]


def test_the_current_decision_stays_however_old_it_is() -> None:
    plans = [stored("only", "Bound", touched=0.0, evicted=True)]
    assert names(chores(plans, set(), 100 * DAY, RETENTION).surplus) == []


@pytest.mark.parametrize(("phase", "evicted"), [("Bound", True), ("Unschedulable", False)])
def test_the_current_decision_for_a_group_that_is_gone_stays_a_day(phase: Phase, evicted: bool) -> None:
    plans = [stored("only", phase, touched=5.0, evicted=evicted)]
    assert names(chores(plans, set(), DAY + 4.0, RETENTION, gone).surplus) == []
    assert names(chores(plans, set(), DAY + 5.0, RETENTION, gone).surplus) == ["only"]


def test_of_a_group_that_is_gone_nothing_stays_longer_than_a_day() -> None:
    """The last ones that evicted nothing are no exception. Before, as many are kept as of other preemptors."""
    plans = [stored(f"p{number}", touched=number) for number in range(5)]
    assert names(chores(plans, set(), 10.0, RETENTION, gone).surplus) == ["p0", "p1"]
    assert names(chores(plans, set(), DAY + 10.0, RETENTION, gone).surplus) == ["p0", "p1", "p2", "p3", "p4"]


def test_a_plan_that_is_not_over_stays_although_its_group_is_gone() -> None:
    """Its end is written first, and its begun units are finished."""
    plans = [stored("old", touched=0.0), stored("only", "Evicting", touched=0.0, evicted=True)]
    due = chores(plans, set(), 2 * DAY, RETENTION, gone)
    assert names(due.abandoned) == ["only"]
    assert names(due.surplus) == ["old"]


def test_a_group_made_anew_under_the_same_name_keeps_only_its_own_decision() -> None:
    """Whichever of both decided last."""
    plans = [
        stored("former", "Bound", touched=0.0, evicted=True, uid="former"),
        stored("mine", "Bound", touched=1.0, evicted=True, uid="present"),
        stored("late", "Aborted", touched=2.0, evicted=True, uid="former"),
    ]
    due = chores(plans, set(), 2 * DAY, RETENTION, lambda plan: plan.preemptor == "present")
    assert names(due.surplus) == ["former", "late"]


def test_what_a_former_group_of_the_name_decided_takes_no_place_of_the_present_one() -> None:
    plans = [stored(f"old{number}", touched=10.0 + number, uid="former") for number in range(3)]
    plans += [stored(f"new{number}", touched=float(number), uid="present") for number in range(3)]
    due = chores(plans, set(), 20.0, RETENTION, lambda plan: plan.preemptor == "present")
    assert names(due.surplus) == []


def test_none_may_be_kept_but_the_current_decision() -> None:
    plans = [stored(f"p{number}", touched=number) for number in range(3)]
    assert names(chores(plans, set(), 10.0, Retention(DAY, kept=0)).surplus) == ["p0", "p1"]


@pytest.mark.parametrize("evicted", [True, False])
def test_the_current_decision_for_a_pod_stays_a_day(evicted: bool) -> None:
    plans = [stored("only", "Aborted", evicted=evicted, kind="Pod")]
    assert names(chores(plans, set(), DAY - 1, RETENTION).surplus) == []
    assert names(chores(plans, set(), DAY, RETENTION).surplus) == ["only"]


def test_an_active_plan_that_nobody_carries_out_is_ended() -> None:
    plans = [stored("mine", "Evicting"), stored("nobodys", "Ready", owner="other")]
    due = chores(plans, {("team", "mine")}, 0.0, RETENTION)
    assert names(due.abandoned) == ["nobodys"]
    assert due.surplus == []


def test_an_ended_plan_that_still_has_the_finalizer_is_let_go() -> None:
    plans = [stored("a", "Aborted", finalized=True), stored("b", "Planned", finalized=True)]
    assert names(chores(plans, {("team", "b")}, 0.0, RETENTION).unfinished) == ["a"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(PHASES),
            st.integers(0, 3 * 86400),
            st.booleans(),
            st.sampled_from(["hero", "other"]),
        ),
        max_size=30,
    ),
    st.integers(0, 4 * 86400),
)
def test_what_is_kept(rows: list[tuple[Phase, int, bool, str]], now: int) -> None:
    plans = [
        stored(f"p{number}", phase, touched=touched, evicted=evicted, owner=owner)
        for number, (phase, touched, evicted, owner) in enumerate(rows)
    ]
    surplus = {plan.key for plan in chores(plans, set(), now, RETENTION).surplus}
    for owner in {plan.owner for plan in plans}:
        own = sorted(
            (plan for plan in plans if plan.owner == owner), key=lambda plan: (plan.touched, plan.meta.name)
        )
        assert own[-1].key not in surplus, "the current decision stays"
        assert not any(plan.key in surplus for plan in own if plan.active is not None)
        assert not any(plan.key in surplus for plan in own if plan.evicted and now - plan.touched < DAY)
        others = [plan for plan in own if plan.active is None and not plan.evicted]
        assert [plan.key for plan in others if plan.key not in surplus] == [
            plan.key for plan in others if plan in others[-3:] or plan is own[-1]
        ]


@pytest.mark.parametrize(
    ("concluded", "age", "stays"),
    [
        (False, 3600.0, True),
        (False, DAY, False),
        (True, COUNTED_SECONDS - 1, True),
        (True, COUNTED_SECONDS, False),
    ],
)
def test_a_plan_that_the_account_needs_stays_for_a_while(concluded: bool, age: float, stays: bool) -> None:
    said = Instead(InsteadVictims(), concluded=concluded, as_of=rfc3339(1000.0))
    plans = [stored("compared", "Observed", touched=0.0, instead=said)]
    plans += [stored(f"p{number}", "Observed", touched=number + 1.0) for number in range(3)]
    assert names(chores(plans, set(), 1000.0 + age, RETENTION).surplus) == ([] if stays else ["compared"])


def test_the_account_holds_no_more_observed_plans_than_are_kept() -> None:
    said = Instead(InsteadVictims(), as_of=rfc3339(1000.0))
    plans = [stored(f"p{number}", "Observed", touched=number, owner=f"o{number}") for number in range(3)]
    plans += [
        stored(f"q{number}", "Observed", touched=number, owner=f"q{number}", instead=said)
        for number in range(2)
    ]
    for most, leave in ((5, []), (2, ["p0", "p1", "p2"]), (1, ["p0", "p1", "p2", "q0"])):
        found = chores(plans, set(), 1000.0, Retention(DAY, kept=3, observed=most)).surplus
        assert names(found) == leave
