"""What preemptions cost: each pod and each second in one line. tests/property/test_ledger.py compares it with a
recomputation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from api.instead import MOST_SECONDS, Costs
from controllers.account.cases import LATE_SECONDS, Case, Decision
from controllers.account.costs import Lost, Room, bounded, lost_of, whole, with_zeros
from controllers.account.ledger import Ledger
from controllers.account.saying import is_news, said_of, together, written_over
from controllers.account.victims import Victim
from runtime.exchange.accounted import Owner, Requests, Standing, Stayed, Usage

EPISODE = 100.0
GPU = "nvidia.com/gpu"
KEY = "team", "gang"
GANG = Owner("gang-uid", "PodGroup", *KEY, KEY)
OTHER = Owner("other-uid", "PodGroup", "team", "other", ("team", "other"))
DECISION = Decision(("team", "plan"), "plan-uid", GANG, False, Lost({GPU: 50.0}, unknown=1))
TWO: Requests = {GPU: 2, "cpu": 4000}
"""What each victim holds."""


def victim(uid: str = "v0", at: float = 10.0, *, age: float = 5.0, **fields: Any) -> Victim:
    plain = Victim(uid, "low", "n0", at, uid, usage=Usage(TWO, at - age))
    return replace(plain, **fields)


def of_group(uid: str, at: float = 10.0, group: str = "u", **fields: Any) -> Victim:
    """A pod of a group of three that is evicted whole."""
    key = KEY if group == GANG.uid else ("low", group)
    return victim(uid, at, **{"unit": group, "group": group, "group_key": key, "running": 3, **fields})


def begun(*victims: Victim, owner: Owner = GANG) -> Ledger:
    ledger = Ledger(EPISODE)
    ledger.decided(replace(DECISION, owner=owner), 5.0)
    for each in victims:
        preempted(ledger, each, owner)
    return ledger


def preempted(ledger: Ledger, each: Victim, owner: Owner = GANG) -> None:
    ledger.preempted(each, each.at)
    ledger.named(each.uid, owner, each.at)


def costs_of(ledger: Ledger, now: float, owner: Owner = GANG) -> Costs:
    (case,) = ledger.cases_of(owner.uid)
    return of_case(case, now)


def of_case(case: Case, now: float) -> Costs:
    costs = said_of(case, 0, now).costs
    return costs


def pieces(*nodes: str, held: Requests = TWO, minimum: int = 2) -> Standing:
    return Standing(frozenset(nodes), len(nodes), minimum, 1, held)


def left(placed: int = 2, requests: Requests = TWO, minimum: int | None = 3) -> Stayed:
    return Stayed(requests, placed, minimum)


def test_what_a_victim_loses_is_its_requests_times_its_age() -> None:
    costs = costs_of(begun(victim(), victim("v1", age=50.0)), 12.0)
    assert costs.victims == {GPU: 110, "cpu": 220}
    assert costs.served_nobody == {}, "the gang may still run"
    assert (costs.ours, costs.unknown, costs.unknown_ours) == ({GPU: 50}, 0, 1)


def test_what_served_nobody_is_a_part_of_what_the_victims_lost() -> None:
    ledger = begun(victim(), victim("v1", node="n9", age=50.0))
    ledger.stands(GANG.uid, Standing(frozenset({"n0", "n1"}), 2, 2, 0), 12.0)
    costs = costs_of(ledger, 13.0)
    assert costs.served_nobody == {GPU: 100, "cpu": 200}
    assert costs.victims == {GPU: 110, "cpu": 220}


def test_a_pod_that_starts_in_the_future_loses_nothing() -> None:
    """The clock of its node may be ahead. It does not make the others cheaper."""
    assert costs_of(begun(victim(age=-1000.0), victim("v1")), 12.0).victims == {GPU: 10, "cpu": 20}


def test_a_pod_whose_requests_or_age_are_not_known_is_counted() -> None:
    costs = costs_of(begun(victim(usage=None), victim("v1")), 12.0)
    assert (costs.victims, costs.unknown) == ({GPU: 10, "cpu": 20}, 1)


def test_a_pod_without_requests_costs_nothing_and_is_known() -> None:
    costs = costs_of(begun(victim(usage=Usage({}, 0.0))), 12.0)
    assert (costs.victims, costs.unknown) == ({}, 0)


def test_memory_is_in_gibibytes_and_what_nobody_pays_for_is_left_out() -> None:
    held = {"memory": 3 << 30, "ephemeral-storage": 1 << 40, "pods": 1, "hugepages-2Mi": 5, "a.io/b": 7}
    assert costs_of(begun(victim(usage=Usage(held, 0.0))), 12.0).victims == {"memory": 30, "a.io/b": 70}


def test_no_amount_is_higher_than_readers_can_hold() -> None:
    assert whole({"a.io/b": 1e30}) == {"a.io/b": MOST_SECONDS}


def test_many_pods_of_one_class_are_counted_together() -> None:
    each = [(Usage(TWO, float(number % 7)), 10.0) for number in range(100_000)]
    assert lost_of(each).amounts[GPU] == sum(2 * (10.0 - number % 7) for number in range(100_000))


# ---- remainders


def test_what_stays_of_a_broken_group_is_idle_until_it_goes() -> None:
    ledger = begun(of_group("v0"))
    ledger.stays("u", left(), 10.5)
    assert costs_of(ledger, 20.0).idle_remainders == {GPU: 20, "cpu": 40}
    ledger.stays("u", left(1, {GPU: 1}), 30.0)
    assert costs_of(ledger, 40.0).idle_remainders == {GPU: 50, "cpu": 80}
    ledger.stays("u", left(0, {}), 50.0)
    assert costs_of(ledger, 90.0).idle_remainders == {GPU: 60, "cpu": 80}


@pytest.mark.parametrize("end", [left(3), None])
def test_it_is_not_idle_once_enough_run_or_the_group_is_gone(end: Stayed | None) -> None:
    ledger = begun(of_group("v0"))
    ledger.stays("u", left(), 11.0)
    ledger.stays("u", end, 20.0)
    ledger.stays("u", left(), 30.0)
    assert costs_of(ledger, 90.0).idle_remainders == {GPU: 20, "cpu": 40}


def test_a_group_without_a_minimum_runs_when_as_many_run_as_before() -> None:
    ledger = begun(of_group("v0"))
    ledger.stays("u", left(2, minimum=None), 11.0)
    ledger.stays("u", left(3, minimum=None), 20.0)
    assert costs_of(ledger, 90.0).idle_remainders == {GPU: 20, "cpu": 40}


def test_it_is_followed_for_an_episode_and_the_case_is_open_so_long() -> None:
    ledger = begun(of_group("v0"))
    ledger.stays("u", left(), 11.0)
    ledger.stands(GANG.uid, Standing(frozenset({"n0", "n1"}), 2, 2, 0), 12.0)
    assert ledger.settle(10.0 + EPISODE - 1).cases == [], "the remainder is still idle"
    (case,) = ledger.settle(10.0 + EPISODE + 50).cases
    assert of_case(case, 300.0).idle_remainders == {GPU: 2 * int(EPISODE), "cpu": 4 * int(EPISODE)}
    assert len(ledger) == 0


def test_a_group_whose_pods_go_one_after_the_other_has_no_remainder() -> None:
    ledger = begun(*(of_group(f"v{each}", 10.0 + each / 10) for each in range(3)))
    ledger.stays("u", left(2), 10.3)
    ledger.stays("u", left(0, {}), 10.8)
    assert costs_of(ledger, 60.0).idle_remainders == {}


def test_two_preemptors_that_break_one_group_do_not_both_count_the_rest() -> None:
    ledger = begun(of_group("v0"))
    ledger.stays("u", left(), 11.0)
    preempted(ledger, of_group("v1", 20.0), OTHER)
    assert costs_of(ledger, 30.0).idle_remainders == {GPU: 40, "cpu": 80}
    assert costs_of(ledger, 30.0, OTHER).idle_remainders == {}


def test_what_a_pod_held_while_its_group_was_broken_is_no_work() -> None:
    ledger = begun(of_group("v0", age=5.0), of_group("v1", 40.0, age=35.0))
    costs = costs_of(ledger, 41.0)
    assert costs.victims == {GPU: 20, "cpu": 40}, "v1 worked for five seconds, and was idle for 30"
    assert costs_of(ledger, 40.0 + EPISODE).served_nobody == costs.victims


def test_the_ledger_says_of_which_group_it_asks_what_is_left() -> None:
    ledger = begun(of_group("v0"), victim("v9"))
    assert ledger.broken() == [("u", ("low", "u"))]
    assert ledger.broken() == []
    preempted(ledger, of_group("v1", 11.0))
    assert ledger.broken() == [("u", ("low", "u"))]
    remainder = ledger.left("u")
    assert remainder is not None
    assert set(remainder.gone) == {"v0", "v1"}
    assert ledger.left("v9") is None


def test_a_remainder_changes_its_case_when_an_event_says_so() -> None:
    ledger = Ledger(EPISODE)
    ledger.decided(DECISION, 5.0)
    ledger.hinted(["n0"], OTHER, 9.0)
    ledger.preempted(of_group("v0"), 10.0)
    ledger.settle(10.0 + LATE_SECONDS)
    ledger.stays("u", left(), 10.0 + LATE_SECONDS)
    assert costs_of(ledger, 30.0, OTHER).idle_remainders == {GPU: 40, "cpu": 80}
    ledger.decided(replace(DECISION, uid="other-plan", owner=OTHER), 30.0)
    ledger.named("v0", GANG, 30.0)
    assert costs_of(ledger, 30.0, OTHER).idle_remainders == {}
    assert costs_of(ledger, 30.0).idle_remainders == {GPU: 40, "cpu": 80}


# ---- gangs in pieces


def test_what_a_gang_in_pieces_holds_is_counted_while_it_is() -> None:
    ledger = begun(victim())
    ledger.stands(GANG.uid, pieces("n0"), 20.0)
    ledger.stands(GANG.uid, pieces("n0", held={GPU: 1}), 30.0)
    assert costs_of(ledger, 40.0).held_in_pieces == {GPU: 30, "cpu": 40}
    ledger.stands(GANG.uid, pieces("n0", "n1"), 40.0)
    assert costs_of(ledger, 90.0).held_in_pieces == {GPU: 30, "cpu": 40}


def test_less_than_a_second_in_pieces_is_not_said() -> None:
    ledger = begun(victim())
    ledger.stands(GANG.uid, pieces("n0", held={GPU: 1000}), 20.0)
    ledger.stands(GANG.uid, pieces("n0", "n1"), 20.9)
    assert costs_of(ledger, 90.0).held_in_pieces == {}


def test_a_gang_that_is_gone_holds_nothing() -> None:
    ledger = begun(victim())
    ledger.stands(GANG.uid, pieces("n0"), 20.0)
    ledger.stands(GANG.uid, None, 30.0)
    assert costs_of(ledger, 90.0).held_in_pieces == {GPU: 20, "cpu": 40}


def test_room_is_not_held_in_pieces_and_idle_at_the_same_time() -> None:
    """A group that was broken waits for its pods as a preemptor: its room is the remainder, until that ends."""
    ledger = begun()
    ledger.stands(GANG.uid, pieces("n0"), 8.0)
    preempted(ledger, of_group("v0", group=GANG.uid), OTHER)
    ledger.stays(GANG.uid, left(), 11.0)
    ledger.stands(GANG.uid, pieces("n0"), 12.0)
    assert costs_of(ledger, 30.0, OTHER).idle_remainders == {GPU: 40, "cpu": 80}
    assert costs_of(ledger, 30.0).held_in_pieces == {GPU: 4, "cpu": 8}
    ledger.settle(10.0 + EPISODE + 1)
    assert costs_of(ledger, 120.0).held_in_pieces == {GPU: 4 + 20, "cpu": 8 + 40}


def test_a_broken_group_that_begins_to_preempt_is_not_counted_again() -> None:
    ledger = begun(of_group("v0", group=GANG.uid), owner=OTHER)
    ledger.stays(GANG.uid, left(), 11.0)
    ledger.decided(DECISION, 20.0)
    ledger.stands(GANG.uid, pieces("n0"), 20.0)
    assert costs_of(ledger, 30.0).held_in_pieces == {}
    ledger.stays(GANG.uid, left(3), 30.0)
    assert costs_of(ledger, 35.0).held_in_pieces == {GPU: 10, "cpu": 20}


def test_what_a_pod_held_while_its_gang_was_in_pieces_is_no_work() -> None:
    ledger = begun()
    ledger.stands(GANG.uid, pieces("n0"), 20.0)
    ledger.stands(GANG.uid, pieces("n0"), 25.0)
    preempted(ledger, victim("v0", 40.0, age=30.0, group=GANG.uid), OTHER)
    assert costs_of(ledger, 41.0, OTHER).victims == {GPU: 20, "cpu": 40}, "it worked from 10 to 20"


def test_time_that_goes_backwards_costs_nothing() -> None:
    room = Room(10.0)
    room.change(TWO, 20.0)
    room.change({}, 5.0)
    assert room.until(30.0) == {}


# ---- what is written


def test_a_new_leader_takes_the_higher_numbers_and_adds_time_in_pieces() -> None:
    ledger = begun(victim())
    said = said_of(ledger.cases_of(GANG.uid)[0], 0, 12.0)
    before = replace_costs(
        said, Costs(victims={GPU: 4, "a.io/b": 9}, held_in_pieces={GPU: 3}, ours={GPU: 70}, unknown=2)
    )
    after = replace_costs(said, Costs(victims={GPU: 10}, held_in_pieces={GPU: 5, "cpu": 1}, ours={GPU: 50}))
    costs = together(after, before).costs
    assert costs == Costs(
        victims={GPU: 10, "a.io/b": 9}, held_in_pieces={GPU: 8, "cpu": 1}, ours={GPU: 70}, unknown=2
    )


def replace_costs(said: Any, costs: Any) -> Any:
    fields = {name: getattr(said, name) for name in said.__struct_fields__}
    return type(said)(**{**fields, "costs": costs})


def test_time_alone_is_no_news() -> None:
    ledger = begun(of_group("v0"))
    ledger.stands(GANG.uid, pieces("n0"), 11.0)
    ledger.stays("u", left(), 11.0)
    (case,) = ledger.cases_of(GANG.uid)
    first = said_of(case, 0, 20.0)
    assert not is_news(said_of(case, 0, 90.0), first)
    preempted(ledger, victim("v1", 21.0))
    assert is_news(said_of(case, 0, 22.0), first)


def test_what_is_no_longer_so_is_written_as_zero() -> None:
    """A merge patch takes no key of a map away."""
    ledger = begun(victim())
    said = said_of(ledger.cases_of(GANG.uid)[0], 0, 12.0)
    written = written_over(replace_costs(said, Costs(victims={"a.io/b": 5, GPU: 3})), None)
    again = written_over(replace_costs(said, Costs(victims={GPU: 4})), written).costs
    assert again == Costs(victims={"a.io/b": 0, GPU: 4})
    assert with_zeros(Costs(), Costs()) == Costs()


def test_a_tenant_with_many_devices_does_not_fill_the_plan() -> None:
    """Those that were said before stay, so that none is left behind in the plan."""
    names = [f"{'x' * 50}.io/{each:03}" for each in range(200)]
    many = Costs(
        victims={name: 1 + number for number, name in enumerate(names)} | {"cpu": 1, GPU: 1, "memory": 1}
    )
    first = bounded(many, Costs())
    assert {"cpu", "memory", GPU} < first.victims.keys()
    assert first.victims.keys() - {"cpu", "memory", GPU} == set(names[-13:]), "the dearest"
    later = Costs(victims=dict.fromkeys(names, 1), ours=dict.fromkeys(names[:50], 10**9))
    assert bounded(later, first).victims.keys() == set(names[-13:])
    assert bounded(later, first).ours == {}
