"""Gates: one cluster at a time may preempt (KEP-8303). Times are exact. Numbers are Kueue's issues."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from controllers.multikueue.life.decision import (
    CloseGate,
    CreateCopy,
    Decision,
    DeleteCopy,
    EndTurn,
    FenceCopy,
    GiveTurn,
    OpenGate,
)
from controllers.multikueue.life.memory import EMPTY
from controllers.multikueue.life.seen import Copy, Cost
from controllers.multikueue.life.turns import is_candidate
from tests.kit.dispatched.seeing import (
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    OLD,
    QUOTA_RESERVED,
    SETTINGS,
    admitted,
    at,
    cluster,
    copy,
    cost,
    follows,
    gated,
    seen,
    turn,
    workload,
)

OPEN = gated(gate="Open")
FULL = copy(waits="Pending")


def given(decision: Decision) -> str:
    """The cluster that gets a turn; empty if none does."""
    return decision.here.cluster if isinstance(decision.here, GiveTurn) else ""


# ---- candidates


@pytest.mark.parametrize(
    ("found", "is_one"),
    [
        (gated(), True),
        (gated(waits="AdmissionGated"), True),
        (
            gated(waits="Pending"),
            False,
        ),  # Kueue leaves the condition True when nobody can be preempted any longer
        (copy(BLOCKED_ON_PREEMPTION_GATES), True),
        (copy(waits="PendingEvaluation"), False),
        (copy(QUOTA_RESERVED), True),
        (gated(active=False), False),
        (gated(mark=OLD), False),
        (gated(is_deleting=True), False),
        (copy(EVICTED, BLOCKED_ON_PREEMPTION_GATES), False),
        (None, False),
    ],
)
def test_a_candidate_would_preempt_or_holds_quota(found: object, is_one: bool) -> None:
    """8303: Kueue's worker overwrites AdmissionGated with PendingEvaluation."""
    where = cluster("a", found)  # type: ignore[arg-type] # a copy or none
    assert is_candidate(where, seen(where)) is is_one
    away = msgspec.structs.replace(where, reach="Away")
    assert not is_candidate(away, seen(away))


def test_a_cluster_that_does_not_honour_gates_is_asked_without_a_copy() -> None:
    assert is_candidate(cluster("a", honours_gates=False), seen())
    assert not is_candidate(cluster("a", gated(mark=OLD), honours_gates=False), seen())


# ---- the window


def test_the_first_gate_waits_for_a_copy_that_was_not_considered() -> None:
    """15547: PendingEvaluation carries no decision."""
    what = seen(cluster("a", gated(), cost=cost()), cluster("b", copy(waits="PendingEvaluation")))
    first = follows(what, 1)
    assert given(first) == ""
    assert first.again == at(6)
    assert given(follows(what, 5.9, first.memory)) == ""
    last = follows(what, 6, first.memory)
    assert given(last) == "a"


def test_it_opens_at_once_when_all_were_considered_and_all_costs_are_known() -> None:
    assert given(follows(seen(cluster("a", gated(), cost=cost()), cluster("b", FULL)), 1)) == "a"


@pytest.mark.parametrize("found", [None, cost(seen=at(0))])
def test_it_waits_for_a_cost_that_is_unknown_or_older_than_the_last_gate(found: object) -> None:
    what = seen(cluster("a", gated(), cost=found, last_opened=at(0)), cluster("b", FULL))
    first = follows(what, 1)
    assert first.again == at(6)
    assert given(follows(what, 6, first.memory)) == "a"
    by_time = replace(SETTINGS, by_cost=False)
    assert given(follows(what, 1, settings=by_time)) == "a"


@pytest.mark.parametrize(
    ("found", "says"),
    [(copy(), None), (copy(waits="PendingEvaluation"), None), (gated(), cost(seen=at(0)))],
)
def test_a_gate_that_opens_for_another_workload_there_begins_the_window_anew(
    found: Copy, says: Cost | None
) -> None:
    """The quota controller there first carries out that preemption. Otherwise all others go to the other cluster, as
    the only one that asks."""
    other = cluster("b", gated(), cost=cost(5))
    first = follows(seen(cluster("a", found, cost=says, last_opened=at(0)), other), 1)
    assert first.again == at(6)
    busy = seen(cluster("a", found, cost=says, last_opened=at(4), is_busy=True), other)
    second = follows(busy, 6, first.memory)
    assert (given(second), second.again) == ("", at(9))
    assert given(follows(busy, 8.9, second.memory)) == ""
    assert given(follows(busy, 9, second.memory)) == "b"
    fresh = seen(cluster("a", gated(), cost=cost(0, seen=at(7)), last_opened=at(4)), other)
    assert given(follows(fresh, 7, second.memory)) == "a"
    stale = seen(cluster("a", gated(), cost=cost(0, seen=at(4)), last_opened=at(4)), other)
    assert [given(follows(stale, seconds, second.memory)) for seconds in (8.9, 9)] == ["", "a"]


@pytest.mark.parametrize(("before", "waits"), [(4, True), (5, False), (9, False)])
def test_a_busy_cluster_that_cannot_be_cheaper_is_not_waited_for_anew(before: int, waits: bool) -> None:
    """Where all victims are equal, both clusters preempt, each for another Workload."""
    busy = cluster("a", gated(), cost=cost(before, seen=at(0)), last_opened=at(4), is_busy=True)
    what = seen(busy, cluster("b", gated(), cost=cost(5)))
    first = follows(what, 1)
    assert given(first) == ""
    assert given(follows(what, 6, first.memory)) == ("" if waits else "b")
    assert given(follows(what, 9, first.memory)) == "b"


def test_gates_of_others_that_go_on_opening_are_waited_for_during_the_time_of_one_turn() -> None:
    """No candidate starves."""
    memory = EMPTY
    for seconds in range(1, 307):
        busy = cluster("a", copy(), last_opened=at(seconds))
        decision = follows(seen(busy, cluster("b", gated(), cost=cost(5))), seconds, memory)
        memory = decision.memory
        assert given(decision) == ("b" if seconds == 306 else "")


def test_gates_that_open_in_a_cluster_that_has_spoken_delay_nobody() -> None:
    busy = cluster("a", gated(), cost=cost(9, seen=at(5)), last_opened=at(4))
    full = cluster("c", FULL, last_opened=at(5))
    assert given(follows(seen(busy, cluster("b", gated(), cost=cost(5)), full), 5)) == "b"


def test_without_a_window_it_opens_at_once() -> None:
    what = seen(cluster("a", gated()), cluster("b", copy(waits="PendingEvaluation")))
    assert given(follows(what, 1, settings=replace(SETTINGS, window=0))) == "a"


def test_a_copy_that_holds_quota_has_a_turn_from_then_on() -> None:
    what = seen(cluster("a", gated()), cluster("b", copy(QUOTA_RESERVED)))
    decision = follows(what, 1)
    assert isinstance(decision.here, GiveTurn)
    assert decision.here.cluster == "b"
    assert "holds quota" in decision.here.reason
    assert "b" not in decision.there


def test_no_gate_opens_once_a_copy_is_admitted() -> None:
    what = seen(cluster("a", gated()), cluster("b", admitted()), turns=(turn(1, "a", 0),))
    assert not any(isinstance(act, OpenGate) for act in follows(what, 1).there.values())


# ---- a turn


def test_a_turn_is_stored_before_its_gate_opens_and_lasts_its_time() -> None:
    what = seen(cluster("a", gated(), cost=cost()))
    give = follows(what, 1)
    assert isinstance(give.here, GiveTurn)
    assert (give.here.number, give.here.began, give.here.until) == (1, at(1), at(301))
    assert give.there == {}
    stored = follows(replace(what, turns=(turn(1, "a", 1),)), 2, give.memory)
    assert stored.there == {"a": OpenGate("c-1", "7", at(301))}
    assert stored.again == at(301)


def test_a_new_leader_writes_to_every_copy_before_it_opens_a_gate() -> None:
    """A late write of a former leader fails then."""
    what = seen(cluster("a", gated()), cluster("b", gated(uid="c-2")), turns=(turn(1, "a", 1),))
    unfenced = replace(what, fenced=frozenset({"a"}))
    assert follows(unfenced, 2).there == {"b": FenceCopy("c-2", "7")}
    assert isinstance(follows(what, 2).there["a"], OpenGate)


@pytest.mark.parametrize("seconds", [2, 300.9])
def test_a_gate_that_is_closed_in_its_turn_without_an_eviction_is_opened_again(seconds: float) -> None:
    what = seen(cluster("a", gated()), cluster("b", gated()), turns=(turn(1, "a", 1),))
    assert isinstance(follows(what, seconds).there["a"], OpenGate)


def test_a_copy_that_was_evicted_in_its_turn_waits_for_another_turn() -> None:
    turns = (turn(1, "a", 1),)
    evicted = follows(seen(cluster("a", copy(EVICTED)), cluster("b", gated()), turns=turns), 2)
    assert isinstance(evicted.there["a"], DeleteCopy)
    anew = seen(cluster("a", gated(uid="c-9")), cluster("b", gated()), turns=turns)
    assert follows(anew, 9, evicted.memory).there == {}
    assert given(follows(anew, 9, evicted.memory)) == ""


def test_a_gate_outside_its_turn_is_closed_and_no_other_one_opens_meanwhile() -> None:
    """Kueue's scheduler may apply an older state."""
    what = seen(cluster("a", gated()), cluster("b", OPEN), turns=(turn(1, "a", 1),))
    acts = follows(what, 2).there
    assert set(acts) == {"b"}
    assert isinstance(acts["b"], CloseGate)


# ---- the end of a turn


def test_the_gate_is_closed_first_and_then_the_next_one_opens() -> None:
    turns = (turn(1, "a", 1),)
    what = seen(cluster("a", OPEN), cluster("b", gated()), turns=turns)
    assert follows(what, 300.9).there == {}
    over = follows(what, 301)
    assert over.there == {"a": CloseGate("c-1", "7", "its turn is over")}
    assert given(over) == ""
    closed = follows(seen(cluster("a", gated()), cluster("b", gated()), turns=turns), 301)
    assert given(closed) == "b"


def test_a_turn_ends_when_its_cluster_refuses_the_workload() -> None:
    """Others would wait for its whole time, and nobody could come of it."""
    out = EMPTY.about("uid", seen().attempt).refused("a", "Forbidden", "no right")
    turns = (turn(1, "a", 1),)
    what = seen(cluster("a", OPEN), cluster("b", gated(), cost=cost()), turns=turns)
    first = follows(what, 7, out)
    assert isinstance(first.there["a"], DeleteCopy)
    assert given(first) == ""
    gone = follows(replace(what, clusters=(cluster("a"), what.clusters[1])), 8, first.memory)
    assert isinstance(gone.here, GiveTurn)
    assert (gone.here.cluster, gone.here.number, gone.here.began) == ("b", 2, at(8))
    after = replace(what, clusters=(cluster("a"), what.clusters[1]), turns=(*turns, turn(2, "b", 8)))
    assert follows(after, 9).here == EndTurn("turn-1", "Ended", "a could not take the Workload.")
    away = seen(cluster("a", OPEN, reach="Away"), cluster("b", gated(), cost=cost()), turns=turns)
    assert given(follows(away, 800, out)) == ""


def test_a_gate_stays_open_when_no_other_cluster_asks() -> None:
    what = seen(cluster("a", OPEN), cluster("b", FULL), turns=(turn(1, "a", 1),))
    decision = follows(what, 1000)
    assert (decision.there, given(decision)) == ({}, "")


def test_in_a_cluster_that_cannot_be_reached_nothing_is_closed_until_it_is_lost() -> None:
    away = seen(cluster("a", OPEN, reach="Away"), cluster("b", gated()), turns=(turn(1, "a", 1),))
    assert given(follows(away, 301)) == ""
    assert given(follows(away, 800)) == ""
    lost = seen(cluster("a", OPEN, reach="Lost"), cluster("b", gated()), turns=(turn(1, "a", 1),))
    assert given(follows(lost, 800)) == "b"
    assert given(follows(lost, 300)) == ""


def test_a_lost_cluster_that_comes_back_and_goes_away_again_is_waited_for() -> None:
    turns = turn(1, "a", 1), turn(2, "b", 301)
    clusters = cluster("a", OPEN, reach="Away"), cluster("b", gated()), cluster("c", gated())
    decision = follows(seen(*clusters, turns=turns), 601)
    assert given(decision) == ""
    assert follows(seen(*clusters, turns=turns), 302).there == {}


def test_a_gate_of_a_former_attempt_hinders_the_next_turn() -> None:
    """Kueue forgets the gate of a copy that it cannot reach."""
    old = gated(mark=OLD, gate="Open")
    what = seen(cluster("a", old, reach="Away"), cluster("b", gated(), cost=cost()))
    assert given(follows(what, 60, follows(what, 1).memory)) == ""
    lost = seen(cluster("a", old, reach="Lost"), cluster("b", gated(), cost=cost()))
    assert given(follows(lost, 60)) == "b"


def test_a_new_process_knows_of_it_from_the_stored_turn() -> None:
    what = seen(
        cluster("a", reach="Away"), cluster("b", gated(), cost=cost()), former_turns=(turn(1, "a", -90),)
    )
    assert follows(what, 60).here is None
    back = replace(what, clusters=(cluster("a"), cluster("b", gated(), cost=cost())))
    assert isinstance(follows(back, 60).here, EndTurn)


def test_the_plan_of_a_turn_that_was_followed_is_timed_out() -> None:
    what = seen(
        cluster("a", gated()), cluster("b", OPEN), turns=(turn(1, "a", 1), turn(2, "b", 301)), digest=b"spec"
    )
    act = follows(what, 302).here
    assert act == EndTurn(
        "turn-1", "TimedOut", "No cluster had admitted the Workload when its time was over."
    )


def test_a_plan_is_not_over_while_its_gate_may_be_open_elsewhere() -> None:
    """Cluster b has admitted the Workload in a's turn, and a cannot be reached."""
    at_b = workload(chosen="b", state="Ready")
    what = seen(cluster("a", OPEN, reach="Away"), cluster("b", admitted()), of=at_b, turns=(turn(1, "a", 1),))
    assert follows(what, 9).here is None
    closed = seen(cluster("a"), cluster("b", admitted()), of=workload(chosen="b"), turns=(turn(1, "a", 1),))
    assert follows(closed, 9).here == EndTurn("turn-1", "Admitted", "b admitted the Workload.")


# ---- clusters that do not honour gates


def test_a_cluster_without_gates_gets_its_copy_in_its_turn_and_loses_it_after() -> None:
    what = seen(cluster("a", honours_gates=False), cluster("b", gated()), turns=(turn(1, "a", 1),))
    assert follows(what, 2).there == {"a": CreateCopy(has_gate=True)}
    assert follows(seen(cluster("a", honours_gates=False)), 2).there == {}
    there = seen(
        cluster("a", copy(waits="Pending", has_gate=False, gate="Missing"), honours_gates=False),
        cluster("b", gated()),
        turns=(turn(1, "a", 1),),
    )
    assert follows(there, 300).there == {}
    assert isinstance(follows(there, 301).there["a"], DeleteCopy)


def test_a_cluster_that_no_longer_honours_gates_loses_a_copy_outside_its_turn() -> None:
    what = seen(cluster("a", gated(), honours_gates=False), cluster("b", gated()), turns=(turn(1, "b", 1),))
    assert isinstance(follows(what, 2).there["a"], DeleteCopy)


# ---- turns in order


def test_no_candidate_starves() -> None:
    """The one with fewer turns comes first, whatever it costs."""
    cheap, dear = cost(0), cost(9)
    clusters = (
        cluster("a", gated(), cost=cheap),
        cluster("b", gated(), cost=dear),
        cluster("c", gated(), cost=cheap),
    )
    turns = list[object]()
    got = list[str]()
    for number in range(6):
        now = 1 + 300 * number
        decision = follows(seen(*clusters, turns=tuple(turns)), now)
        got.append(given(decision))
        turns.append(turn(number + 1, got[-1], now))
    assert got == ["a", "c", "b", "a", "c", "b"]
