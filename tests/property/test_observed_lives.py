"""The life of a gang in a namespace where nothing is enforced: whatever happens, nothing is done for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from api.backoff import Backoff
from api.plans import PreemptionPlanSpec, Preemptor, Victim, VictimPod
from controllers.gangs.lifecycle.effects import (
    CannotSchedule,
    CountObserved,
    Effect,
    Record,
    SayAstray,
    SayScheduled,
    Wake,
)
from controllers.gangs.lifecycle.life import Life
from controllers.gangs.lifecycle.observations import (
    Decided,
    Failed,
    GatesRemoved,
    GroupGone,
    MembersSeen,
    NotDecided,
    Observation,
)
from controllers.gangs.lifecycle.reducer import reduce
from controllers.gangs.lifecycle.settings import OBSERVED_SECONDS, Settings

SETTINGS = Settings(Backoff(1.0, 60.0, jitter=0.0), 300.0)
ALLOWED = (Record, CountObserved, CannotSchedule, SayAstray, SayScheduled, Wake)
"""None of them touches a pod that was never held."""
OUTCOMES = st.sampled_from(["Fits", "Preempts", "Preempts", "Unschedulable", "SearchBudgetExhausted"])


def decided(outcome: Any, number: int, *, only_free: bool = False, modelled: bool = True) -> Decided:
    """A decision that is only observed. `number` tells it from others with the outcome."""
    pod = VictimPod("team", "v0", "v0", "n0")
    spec = PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "team", "gang", "uid", 100),
        outcome=outcome,
        reason=f"decision {number}",
        mode="Observe",
        victims=[Victim("Pod", "team", "v0", "v0", 1, False, [pod])] if outcome == "Preempts" else [],
        not_modelled=[] if modelled else ["devices"],
    )
    name = f"plan-{outcome}-{number}-{modelled}"
    return Decided(name, spec, {}, only_free=only_free, untried=True)


SEEN = st.one_of(
    st.builds(decided, OUTCOMES, st.integers(0, 3), only_free=st.booleans(), modelled=st.booleans()),
    st.builds(
        MembersSeen, st.just(2), st.integers(0, 3), st.integers(0, 2), astray=st.sampled_from(["", "m0"])
    ),
    st.just(NotDecided("the class does not exist")),
    st.just(Failed()),
    st.just(GatesRemoved()),
    st.just(GroupGone()),
)
STEPS = st.lists(st.tuples(st.floats(0.0, 50.0), SEEN), max_size=40)


def lived(
    steps: Sequence[tuple[float, Observation]],
) -> list[tuple[float, Life, Observation, tuple[Effect, ...]]]:
    """What follows: the time, the life then, what was observed, and the effects."""
    life, now, found = Life(), 0.0, []
    for seconds, observation in steps:
        now += seconds
        life, effects = reduce(life, observation, now, SETTINGS)
        found.append((now, life, observation, effects))
    return found


@given(STEPS)
def test_nothing_is_done_whatever_happens(steps: Sequence[tuple[float, Observation]]) -> None:
    for _, life, _, effects in lived(steps):
        assert life.plan is None
        assert not life.placed
        assert all(isinstance(each, ALLOWED) for each in effects)


@given(STEPS)
def test_a_gang_gets_one_new_plan_a_minute_and_each_decision_is_counted_with_it(
    steps: Sequence[tuple[float, Observation]],
) -> None:
    last, name = float("-inf"), ""
    for now, life, observation, effects in lived(steps):
        records = [each for each in effects if isinstance(each, Record)]
        counted = [each for each in effects if isinstance(each, CountObserved) and each.outcome != "Fits"]
        if not (records and isinstance(observation, Decided)):
            assert not counted
            continue
        assert [each.phase for each in records] == ["Observed"]
        assert observation.spec.outcome != "Fits", "what fits free room is only counted"
        assert bool(counted) == (observation.name != name)
        if observation.name != name:
            assert now >= last + OBSERVED_SECONDS
            last, name = now, observation.name
        assert life.due >= now, "the gang is not decided again at once"


@given(STEPS, st.integers(4, 9))
def test_no_decision_is_lost(steps: Sequence[tuple[float, Observation]], number: int) -> None:
    """It is made again once the minute is over, and then it is stored."""
    history = lived(steps)
    now, life = (history[-1][0], history[-1][1]) if history else (0.0, Life())
    late = decided("Preempts", number)
    life, effects = reduce(life, late, now, SETTINGS)
    if not effects:
        assert not life.looked
        assert life.due == life.observed_until
        life, effects = reduce(life, late, life.due, SETTINGS)
    assert [type(each) for each in effects] == [Record, CountObserved]
    assert life.phase == "Observed"
    assert life.message == f"1 pod would be evicted for it (plan {late.name})"
