"""The ledger of the account. tests/property/test_ledger.py compares it with a recomputation."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from api.instead import InsteadVictims
from controllers.account.cases import LATE_SECONDS, Case, Decision
from controllers.account.ledger import HINT_SECONDS, Ledger
from controllers.account.saying import is_news, later_than, said_of, together
from controllers.account.victims import Victim
from runtime.exchange.accounted import Owner, Standing

EPISODE = 100.0
GANG = Owner("gang-uid", "PodGroup", "team", "gang", ("team", "gang"))
OTHER = Owner("other-uid", "PodGroup", "team", "other", ("team", "other"))


def victim(uid: str = "v0", at: float = 10.0, **fields: Any) -> Victim:
    return Victim(
        **{"uid": uid, "namespace": "low", "node": "n0", "at": at, "unit": uid, "priority": 1, **fields}
    )


def decision(
    number: int = 0, owner: Owner = GANG, *, changed: bool = False, created: float = 0.0
) -> Decision:
    return Decision(("team", f"plan-{number}"), f"plan-uid-{number}", owner, changed, created=created)


def standing(*nodes: str, minimum: int = 2, waiting: int = 0) -> Standing:
    return Standing(frozenset(nodes), len(nodes), minimum, waiting)


def preempted(ledger: Ledger, each: Victim, owner: Owner = GANG, delay: float = 0.1) -> None:
    ledger.preempted(each, each.at)
    ledger.named(each.uid, owner, each.at + delay)


def only(ledger: Ledger) -> Case:
    (case,) = ledger
    return case


def test_a_gang_that_runs_on_the_nodes_of_its_victims_is_served() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    preempted(ledger, victim("v0", 10.0))
    preempted(ledger, victim("v1", 11.0, node="n1", priority=3))
    ledger.stands(GANG.uid, standing("n0"), 12.0)
    ledger.stands(GANG.uid, standing("n0", "n1"), 15.5)
    assert ledger.settle(15.5 + LATE_SECONDS - 0.1).cases == [], "another event may come"
    (case,) = ledger.settle(15.5 + LATE_SECONDS).cases
    said = said_of(case, 0, 30.0, concluded=True)
    assert (said.state, said.bound, said.seconds_until_bound, said.served_nobody) == ("Same", True, 10, 0)
    assert (said.victims.pods, said.victims.units, said.victims.highest_priority) == (2, 2, 3)
    assert said.victims.priority_sum == 4 + 2 * 2**31
    assert (said.in_pieces, said.in_pieces_seconds) == (True, 3)
    assert len(ledger) == 0


def test_a_victim_on_whose_node_nobody_runs_served_nobody() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    preempted(ledger, victim("v0", node="n0"))
    preempted(ledger, victim("v9", node="n9"))
    ledger.stands(GANG.uid, standing("n0", "n1", waiting=1), 15.0)
    case = only(ledger)
    assert said_of(case, 0, 20.0).served_nobody == 0, "the third member may still come"
    assert said_of(case, 0, 10.0 + EPISODE).served_nobody == 1
    ledger.stands(GANG.uid, standing("n0", "n1"), 21.0)
    assert said_of(case, 0, 21.0).served_nobody == 1, "no other pod of it waits"


def test_a_gang_that_never_runs_whole_is_not_served() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    preempted(ledger, victim())
    ledger.stands(GANG.uid, standing("n0"), 12.0)
    assert said_of(only(ledger), 0, 10.0 + EPISODE - 1).served_nobody == 0
    assert said_of(only(ledger), 0, 10.0 + EPISODE).served_nobody == 1
    ledger.stands(GANG.uid, standing("n0", "n1"), 10.0 + EPISODE + 1)
    assert said_of(only(ledger), 0, 300.0).served_nobody == 1, "it came too late"


def test_a_preemptor_that_is_gone_is_served_by_nobody() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    preempted(ledger, victim())
    ledger.stands(GANG.uid, None, 12.0)
    (case,) = ledger.settle(12.0 + LATE_SECONDS).cases
    said = said_of(case, 0, 22.0)
    assert (said.served_nobody, said.bound, said.seconds_until_bound) == (1, False, UNSET)


def test_a_group_of_which_a_part_went_is_broken() -> None:
    ledger = Ledger(EPISODE)
    preempted(ledger, victim("v0", unit="u", running=3))
    preempted(ledger, victim("v1", 10.5, unit="u", running=2))
    preempted(ledger, victim("w0", 10.6, unit="w", running=2))
    preempted(ledger, victim("w1", 10.7, unit="w", running=1))
    preempted(ledger, victim("x", 10.8))
    said = said_of(only(ledger), 0, 20.0)
    assert (said.groups_broken, said.victims.units, said.victims.pods) == (1, 3, 5)


def test_the_event_comes_before_a_hint() -> None:
    ledger = Ledger(EPISODE)
    ledger.hinted(["n0"], OTHER, 9.0)
    ledger.preempted(victim(), 10.0)
    ledger.named("v0", GANG, 10.0 + LATE_SECONDS + 5)
    assert only(ledger).owner == GANG


def test_without_an_event_the_only_one_who_is_about_to_come_counts() -> None:
    ledger = Ledger(EPISODE)
    ledger.hinted(["n0"], GANG, 9.0)
    ledger.preempted(victim(), 10.0)
    ledger.hinted(["n0"], OTHER, 10.0 + LATE_SECONDS + 1)
    assert only(ledger).owner == GANG


def test_a_preempt_call_says_more_than_a_nomination() -> None:
    ledger = Ledger(EPISODE)
    ledger.hinted(["n0"], OTHER, 9.0)
    ledger.hinted(["v0"], GANG, 9.0)
    ledger.preempted(victim(), 10.0)
    ledger.settle(10.0 + LATE_SECONDS)
    assert only(ledger).owner == GANG


def test_where_two_are_about_to_come_it_is_for_nobody() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    ledger.hinted(["n0"], GANG, 9.0)
    ledger.hinted(["n0"], OTHER, 9.0)
    ledger.preempted(victim(), 10.0)
    ledger.stands(GANG.uid, standing("n0"), 12.0)
    assert not only(ledger).victims
    assert ledger.unattributed(only(ledger), 10.0 + LATE_SECONDS - 1) == 0, "an event may come"
    assert ledger.unattributed(only(ledger), 30.0) == 1
    (lost,) = ledger.settle(10.0 + EPISODE).unattributed
    assert lost.uid == "v0"
    assert ledger.unattributed(only(ledger), 400.0) == 1, "it is forgotten, and still counted"
    assert said_of(only(ledger), 1, 400.0).unattributed == 1


def test_a_hint_is_forgotten() -> None:
    ledger = Ledger(EPISODE)
    ledger.hinted(["n0"], GANG, 9.0)
    ledger.preempted(victim(at=9.0 + HINT_SECONDS + 1), 9.0 + HINT_SECONDS + 1)
    ledger.settle(10.0 + HINT_SECONDS + LATE_SECONDS + 1)
    assert list(ledger) == []
    assert len(ledger) == 1, "the victim"


def test_what_was_preempted_before_the_first_decision_belongs_to_it() -> None:
    ledger = Ledger(EPISODE)
    preempted(ledger, victim(at=3.0))
    ledger.decided(decision(), 5.0)
    case = only(ledger)
    assert case.decision == decision()
    assert (case.began, case.complete) == (3.0, 5.0)


def test_an_event_about_a_pod_that_was_preempted_before_moves_the_beginning() -> None:
    ledger = Ledger(EPISODE)
    ledger.preempted(victim(at=3.0), 3.0)
    ledger.decided(decision(), 5.0)
    ledger.named("v0", GANG, 6.0)
    assert only(ledger).began == 3.0


def test_the_last_decision_before_a_scheduler_begins_counts() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(0), 5.0)
    ledger.decided(decision(1), 6.0)
    assert only(ledger).decision == decision(1)
    assert only(ledger).complete == 5.0
    preempted(ledger, victim())
    ledger.decided(decision(2), 20.0)
    assert only(ledger).decision == decision(1)


def test_a_decision_has_one_case_although_it_is_seen_again_after_its_end() -> None:
    """What is written to a plan is seen by the one who wrote it."""
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    preempted(ledger, victim())
    ledger.stands(GANG.uid, standing("n0", "n1"), 12.0)
    ledger.decided(decision(), 13.0)
    (case,) = ledger.settle(12.0 + LATE_SECONDS).cases
    assert len(case.victims) == 1
    assert len(ledger) == 0


def test_a_decision_that_is_seen_after_the_end_belongs_to_the_case_in_which_it_was_made() -> None:
    """Its plan is written while members are bound one after the other, and the account sees it when all are."""
    ledger = Ledger(EPISODE)
    preempted(ledger, victim("v0", 10.2))
    ledger.stands(GANG.uid, standing("n0", "n1"), 10.8)
    ledger.decided(decision(created=10.0), 10.9)
    said = said_of(only(ledger), 0, 12.0)
    assert (said.state, said.victims.pods, said.bound, said.seconds_until_bound) == ("Same", 1, True, 0)
    ledger.decided(decision(1, created=10.0), 11.0)
    assert only(ledger).decision == decision(created=10.0), "another one was decided before"


def test_a_decision_that_was_made_after_the_end_begins_anew() -> None:
    ledger = Ledger(EPISODE)
    preempted(ledger, victim("v0", 10.2))
    ledger.stands(GANG.uid, standing("n0", "n1"), 10.8)
    ledger.decided(decision(created=11.0), 11.9)
    assert [(len(each.victims), each.decision) for each in ledger] == [
        (1, None),
        (0, decision(created=11.0)),
    ]


def test_what_is_preempted_after_the_end_begins_anew() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    ledger.stands(GANG.uid, standing("n0", "n1"), 6.0)
    preempted(ledger, victim())
    assert [case.decision is not None for case in ledger] == [True, False]
    assert ledger.begun() == [GANG, GANG]


def test_that_it_was_bound_is_not_taken_back_by_a_new_leader() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    preempted(ledger, victim())
    ledger.stands(GANG.uid, standing("n0", "n1", waiting=1), 12.0)
    before = said_of(only(ledger), 0, 13.0)
    other = Ledger(EPISODE)
    other.decided(decision(), 20.0)
    preempted(other, victim())
    other.stands(GANG.uid, standing("n0"), 21.0)
    said = together(said_of(only(other), 0, 22.0), before)
    assert (said.bound, said.seconds_until_bound) == (True, 7)
    other.stands(GANG.uid, standing("n0", "n1"), 50.0)
    again = together(said_of(only(other), 0, 51.0), before)
    assert again.seconds_until_bound == 7, "it was bound before"


def test_a_new_leader_continues_from_what_a_former_one_said() -> None:
    """The numbers of both are not added: most victims are known to both."""
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    preempted(ledger, victim())
    before = said_of(only(ledger), 0, 20.0)
    same = together(said_of(only(ledger), 0, 30.0), before)
    assert (same.state, same.victims.pods) == ("Same", 1)
    preempted(ledger, victim("v1", 31.0))
    more = said_of(only(ledger), 0, 40.0)
    fewer = together(before, more)
    assert (fewer.state, fewer.victims.pods, fewer.victims.priority_sum) == ("Unknown", 2, 2 + 2 * 2**31)


def test_the_word_of_the_former_leader_counts_for_pods_that_only_it_has_seen() -> None:
    """A new process knows as many by their events."""
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    for number in range(2):
        preempted(ledger, victim(f"v{number}", 10.0 + number, unit="u", running=3))
    before = said_of(only(ledger), 0, 20.0)
    other = Ledger(EPISODE)
    other.decided(decision(), 25.0)
    for number in range(2):
        preempted(other, victim(f"v{number}", 10.0 + number, seen=False, priority=None))
    said = together(said_of(only(other), 0, 30.0), before)
    assert (said.state, said.victims, said.groups_broken) == ("Same", before.victims, 1)
    preempted(other, victim("v2", 31.0, unit="u", running=1))
    later = later_than(before, only(other))
    assert together(said_of(only(other), 0, 32.0), before, later).state == "Unknown", (
        "what broke is not known"
    )


def test_the_word_of_the_former_leader_is_added_to() -> None:
    """Two pods were gone when the new process began. It has seen one more go, which is in no group."""
    ledger, other = Ledger(EPISODE), Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    other.decided(decision(), 25.0)
    for number in range(2):
        preempted(ledger, victim(f"v{number}", 10.0 + number, unit="u", running=3, priority=7))
        preempted(other, victim(f"v{number}", 10.0 + number, seen=False, priority=None))
    before = said_of(only(ledger), 0, 20.0)
    preempted(other, victim("v2", 31.0, priority=3))
    said = together(said_of(only(other), 0, 32.0), before, later_than(before, only(other)))
    assert (said.state, said.groups_broken) == ("Same", 1)
    assert said.victims == InsteadVictims(pods=3, units=2, highest_priority=7, priority_sum=10 + 2 * 2**31)


@pytest.mark.parametrize("at", [19.0, 20.9])
def test_whom_the_former_leader_may_have_known_is_not_added(at: float) -> None:
    """It said what was so in the 20th second, and knew of one pod. Two had been preempted."""
    ledger, other = Ledger(EPISODE), Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    other.decided(decision(), 25.0)
    preempted(ledger, victim("v0", 10.0))
    before = said_of(only(ledger), 0, 20.0)
    preempted(other, victim("v0", 10.0, seen=False, priority=None))
    preempted(other, victim("v1", at))
    assert later_than(before, only(other)) is None
    said = together(said_of(only(other), 0, 32.0), before, later_than(before, only(other)))
    assert (said.state, said.victims.pods) == ("Unknown", 2)


def test_what_one_leader_has_not_seen_the_next_one_may_have_seen() -> None:
    """A process that was there all the time leads again."""
    ledger, other = Ledger(EPISODE), Ledger(EPISODE)
    other.decided(decision(), 5.0)
    preempted(other, victim(seen=False, priority=None))
    before = said_of(only(other), 0, 20.0)
    assert before.state == "Unknown"
    ledger.decided(decision(), 5.0)
    preempted(ledger, victim())
    said = together(said_of(only(ledger), 0, 30.0), before, later_than(before, only(ledger)))
    assert (said.state, said.victims.pods, said.victims.highest_priority) == ("Same", 1, 1)


def test_a_new_leader_knows_for_whom_pods_were_preempted_long_ago() -> None:
    ledger, now = Ledger(EPISODE), 10.0 + 2 * EPISODE
    ledger.decided(decision(), 5.0)
    ledger.stands(GANG.uid, standing("n0"), now)
    ledger.preempted(victim(), now)
    ledger.named("v0", GANG, now)
    assert ledger.unattributed(only(ledger), now) == 0
    assert only(ledger).victims.keys() == {"v0"}


def test_a_victim_that_only_its_event_shows_makes_the_state_unknown() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    preempted(ledger, victim(seen=False, priority=None))
    said = said_of(only(ledger), 0, 20.0)
    assert (said.state, said.victims.pods, said.victims.highest_priority) == ("Unknown", 1, UNSET)
    ledger.preempted(victim(), 21.0)
    assert said_of(only(ledger), 0, 22.0).state == "Same"


def test_a_decision_on_another_state_is_not_compared() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(changed=True), 5.0)
    assert said_of(only(ledger), 0, 20.0).state == "Changed"


def test_time_alone_is_no_news() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    first = said_of(only(ledger), 0, 20.0)
    assert not is_news(first, None), "nothing has happened"
    ledger.stands(GANG.uid, standing("n0"), 21.0)
    second = said_of(only(ledger), 0, 25.0)
    assert is_news(second, None)
    assert not is_news(said_of(only(ledger), 0, 90.0), second)


def test_a_member_that_comes_too_late_does_not_serve_although_the_gang_ran() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(decision(), 5.0)
    preempted(ledger, victim())
    ledger.stands(GANG.uid, standing("n1", "n2", waiting=1), 12.0)
    ledger.stands(GANG.uid, standing("n0", "n1", "n2"), 10.0 + EPISODE + 1)
    assert said_of(only(ledger), 0, 10.0 + EPISODE + 1).served_nobody == 1
